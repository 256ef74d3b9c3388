"""The errors that autograd raises, each made in one place from recorded facts.

The explanations live in `lifecycle.why`, loaded when the first error is made: a program without
errors never pays for it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence

from retrograd import dtypes
from retrograd.backend.arrays import Array
from retrograd.engine.node import BackwardCall, Node
from retrograd.engine.state import ANOMALY, STATE
from retrograd.lifecycle.site import user_level
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, VersionCell
from retrograd.tensor.size import device_of


def _coded(
    message: str, kind: type[Exception] = RuntimeError, *, code: str | None = None
) -> Exception:
    from retrograd.lifecycle import why

    return why.coded_error(message, kind, code=code)


def leaf_written(writer: str) -> Exception:
    """An in-place op on a leaf that requires grad."""
    from retrograd.lifecycle import why

    return why.leaf_error(writer)


def leaf_view_written(writer: str) -> Exception:
    """An in-place op on a view of a leaf that requires grad."""
    return forbidden_view(
        "a view of a leaf Variable that requires grad is being used in an in-place operation."
    )


def forbidden_view(message: str) -> Exception:
    """A write to (or use of) a view that cannot follow its base."""
    from retrograd.lifecycle import why

    return why.view_error(message)


def nonleaf_flag() -> Exception:
    """`requires_grad = False` on a tensor with history."""
    return _coded(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use var_no_grad = "
        "var.detach().",
        code="RG111",
    )


def nonfloat_flag(method: bool) -> Exception:
    """`requires_grad = True` on integers; the method and the attribute word it differently."""
    kinds = "floating point dtype" if method else "floating point and complex dtype"
    return _coded(f"only Tensors of {kinds} can require gradients", code="RG111")


def backward_in_transform() -> Exception:
    """`backward()` in a function that a transform differentiates."""
    return _coded(
        "backward() called inside a functorch transform. This is not supported, please use "
        "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
        "transforms.",
        code="RG609",
    )


def retained_in_transform() -> Exception:
    """`retain_grad()` in a function that a transform differentiates."""
    return _coded(
        "You are attempting to call Tensor.retain_grad() inside of a function being transformed by "
        "a functorch transform. This is unsupported, please attempt to use the functorch "
        "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call retain_grad() outside of a "
        "function being transformed instead.",
        code="RG609",
    )


def old_function_in_transform() -> Exception:
    """A custom Function whose `forward` takes `ctx`, in a function under a transform."""
    return _coded(
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, "
        "...), it must override the setup_context staticmethod. For more details, please see "
        "https://pytorch.org/docs/main/notes/extending.func.html",
        code="RG610",
    )


def flag_in_transform() -> Exception:
    """`requires_grad_()` in a function that a transform differentiates."""
    return _coded(
        "You are attempting to call Tensor.requires_grad_() (or perhaps using "
        "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
        "transform. This is unsupported, please attempt to use the functorch transforms (e.g. "
        "grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
        "transformed instead.",
        code="RG609",
    )


def freed(
    node: Node, consumer: Node | None, call: BackwardCall | None, roots: tuple[Node, ...]
) -> Exception:
    """A node whose saved values were released before."""
    from retrograd.lifecycle import why

    return why.freed_error(node, consumer, call, roots)


def freed_alone() -> Exception:
    """The same where the node itself is gone."""
    return _coded(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed "
        "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
        "backward through the graph a second time or if you need to access saved tensors after "
        "calling backward.",
        code="RG101",
    )


def modified(
    node: Node,
    saved_name: str,
    value: Array | Tensor,
    producer: str,
    cell: VersionCell,
    expected: int,
) -> Exception:
    """A saved value that was written in place since."""
    from retrograd.lifecycle import why

    array = value._array if isinstance(value, Tensor) else value
    type_name = dtypes.from_numpy_dtype(array.dtype).tensor_name
    call = STATE.call
    roots = () if call is None else call.root_nodes
    return why.modified_error(
        *(node, saved_name, array.shape, type_name, producer, expected, cell, call, roots),
        anomaly=ANOMALY.enabled,
    )


def walked_twice(
    node: Node, consumer: Node | None, call: BackwardCall, roots: tuple[Node, ...]
) -> Exception:
    """In strict mode: a node that an earlier call has released, whether or not it saved a value."""
    from retrograd.lifecycle import why_strict

    return why_strict.walked_error(node, consumer, call, roots)


def written_while_saved(node: Node, saved_name: str, writer: str) -> Exception:
    """In strict mode: a write to what a node that has not run yet has saved."""
    from retrograd.lifecycle import why_strict

    return why_strict.written_error(node, saved_name, writer)


def written_unseen(node: Node, saved_name: str) -> Exception:
    """In strict mode: a saved value has other elements than when it was saved."""
    from retrograd.lifecycle import why_strict

    return why_strict.unseen_error(node, saved_name, STATE.call)


def detached_in_place(node: Node) -> Exception:
    """A saved input that lost its history by `detach_()`."""
    from retrograd.lifecycle import why

    return why.detached_error(node, STATE.call)


def no_history(index: int, tensor: Tensor) -> Exception:
    """A root of backward without a graph."""
    from retrograd.lifecycle import why

    return why.no_grad_error(index, tensor._cut)


def not_scalar(shape: tuple[int, ...]) -> Exception:
    """backward() without a gradient on more than one element."""
    from retrograd.lifecycle import why

    return why.nonscalar_error(shape)


def unused_input(index: int, call: BackwardCall) -> Exception:
    """An input of grad() that the outputs do not depend on."""
    from retrograd.lifecycle import why

    return why.unused_error(index, call)


def invalid_gradient(
    name: str, index: int, got: Iterable[int], expected: Iterable[int]
) -> Exception:
    """A gradient whose shape does not fit the input it is for."""
    return _coded(
        f"Function {name} returned an invalid gradient at index {index} - got {list(got)} but "
        f"expected shape compatible with {list(expected)}",
        code="RG402",
    )


def nan_result(node: Node, index: int) -> Exception:
    """In anomaly mode: a gradient with a nan."""
    from retrograd.lifecycle import why_nan

    return why_nan.nan_error(node, index, STATE.call)


def tell_forward(error: Exception, node: Node) -> None:
    """In anomaly mode: warn about the forward call of the node that failed, and note its lines."""
    from retrograd.lifecycle import why_nan

    story = why_nan.forward_story(node)
    why_nan.add_forward_note(error, story)
    for text in story:
        try:
            warnings.warn(text, stacklevel=user_level())
        except Warning:  # made an error by a filter: it must not hide the one it tells about
            print(text, file=sys.stderr)


def complex_root(kind: dtypes.dtype) -> Exception:
    """backward() without a gradient on a complex scalar."""
    return _coded(
        f"grad can be implicitly created only for real scalar outputs but got {kind!r}",
        code="RG104",
    )


def _sizes(shape: tuple[int, ...]) -> str:
    return f"torch.Size({list(shape)})"


def mismatched_gradient(index: int, found: tuple[int, ...], shape: tuple[int, ...]) -> Exception:
    """A starting gradient of another shape than its root."""
    return _coded(
        f"Mismatch in shape: grad_output[{index}] has a shape of {_sizes(found)} and "
        f"output[{index}] has a shape of {_sizes(shape)}.",
        code="RG108",
    )


def wrong_device(index: int, expected: Array, found: Array) -> Exception:
    """A gradient on another device than what it belongs to."""
    return _coded(
        f"invalid gradient at index {index} - expected device {device_of(expected)} but got "
        f"{device_of(found)}",
        code="RG308",
    )


def mismatched_batch(index: int, found: tuple[int, ...], shape: tuple[int, ...]) -> Exception:
    """A batch of starting gradients of another shape than their root."""
    return _coded(
        "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
        "batch dimension. The sizes of the remaining dimensions are expected to match the shape of "
        f"corresponding output, but a mismatch was detected: grad_output[{index}] has a shape of "
        f"{_sizes(found[2:])} and output[{index}] has a shape of {_sizes(shape)}. If you only want "
        "some tensors in `grad_output` to be considered batched, consider using vmap.",
        code="RG108",
    )


def mismatched_complex(index: int, found: dtypes.dtype, kind: dtypes.dtype) -> Exception:
    """A complex gradient for a real root, or the other way round."""
    return _coded(
        f"For complex Tensors, both grad_output and output are required to have the same dtype. "
        f"Mismatch in dtype: grad_output[{index}] has a dtype of {found!r} and "
        f"output[{index}] has a dtype of {kind!r}.",
        code="RG108",
    )


_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "bool": "bool",
    "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint64": "long unsigned int", "uint32": "unsigned int", "uint16": "short unsigned int",
    "uint8": "unsigned char",
}  # fmt: skip


def assigned_dtype(gradient: Tensor, expected: dtypes.dtype) -> Exception:
    """`.grad =` of another dtype than `grad_dtype`."""
    return _coded(
        f"attempting to assign a gradient with dtype '{_C_NAMES[gradient.dtype.name]}' to a tensor "
        f"with grad_dtype '{expected.type_name}'. The gradient must match the tensor's "
        "grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype "
        "attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. "
        "Diverging the dtypes of a tensor and its gradient may break downstream systems that "
        "assume they match.",
        code="RG108",
    )


def late_gradient_dtype(chosen: dtypes.dtype, gradient: Tensor) -> Exception:
    """`.grad_dtype =` where there is a gradient of another dtype already."""
    return _coded(
        f"Cannot set grad_dtype to '{chosen.type_name}' because there is already a gradient with "
        f"dtype '{_C_NAMES[gradient.dtype.name]}'. Please clear the gradient (.grad = None) before "
        "changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype.",
        code="RG108",
    )


def assigned_shape(gradient: Tensor, tensor: Tensor) -> Exception:
    """`.grad =` of another shape."""
    return _coded(
        f"attempting to assign a gradient of size '{list(gradient.shape)}' to a tensor of size "
        f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size",
        code="RG108",
    )


def warn_nonleaf_grad(tensor: Tensor) -> None:
    """`.grad` of a tensor that backward does not fill."""
    from retrograd.lifecycle import why

    message = (
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
        "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
        "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
        "instead. See github.com/pytorch/pytorch/pull/30531 for more information."
    )
    warnings.warn(why.nonleaf_grad_warning(message, tensor.grad_fn), stacklevel=user_level())


def broadcast(a: Sequence[int], b: Sequence[int]) -> Exception:
    """Two shapes that do not broadcast: names the first pair of sizes that differ, from the end."""
    for back in range(1, min(len(a), len(b)) + 1):
        x, y = a[-back], b[-back]
        if x != y and 1 not in (x, y):
            where = max(len(a), len(b)) - back
            return runtime_error(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at "
                f"non-singleton dimension {where}",
                code="RG201",
            )
    return runtime_error(f"shapes {list(a)} and {list(b)} do not broadcast", code="RG201")


def inference_saved() -> Exception:
    """An inference tensor in a computation that autograd records."""
    return runtime_error(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can make "
        "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
        "instead of `torch.inference_mode()`.",
        code="RG113",
    )
