"""The errors that autograd raises, each made in one place from recorded facts.

The explanations live in `lifecycle.why`, loaded when the first error is made: a program without
errors never pays for it.
"""

from __future__ import annotations

import warnings
from typing import Any

from retrograd import dtypes
from retrograd.autograd.state import STATE


def _coded(message: str, kind: type[Exception] = RuntimeError) -> Exception:
    from retrograd.lifecycle import why

    return why.coded_error(message, kind)


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
        "var.detach()."
    )


def nonfloat_flag(method: bool) -> Exception:
    """`requires_grad = True` on integers; the method and the attribute word it differently."""
    kinds = "floating point dtype" if method else "floating point and complex dtype"
    return _coded(f"only Tensors of {kinds} can require gradients")


def freed(node: Any, consumer: Any, call: Any, roots: Any) -> Exception:
    """A node whose saved values were released before."""
    from retrograd.lifecycle import why

    return why.freed_error(node, consumer, call, roots)


def modified(
    node: Any, saved_name: str, value: Any, producer: str, cell: Any, expected: int
) -> Exception:
    """A saved value that was written in place since."""
    from retrograd.lifecycle import why

    array = getattr(value, "_array", value)
    type_name = f"torch.{dtypes.from_numpy_dtype(array.dtype).type_name}Tensor"
    call = STATE.call
    roots = () if call is None else call.root_nodes
    return why.modified_error(
        node, saved_name, array.shape, type_name, producer, expected, cell, call, roots
    )


def detached_in_place(node: Any) -> Exception:
    """A saved input that lost its history by `detach_()`."""
    from retrograd.lifecycle import why

    return why.detached_error(node, STATE.call)


def no_history(index: int, tensor: Any) -> Exception:
    """A root of backward without a graph."""
    from retrograd.lifecycle import why

    return why.no_grad_error(index, tensor._cut)


def not_scalar(tensor: Any) -> Exception:
    """backward() without a gradient on more than one element."""
    from retrograd.lifecycle import why

    return why.nonscalar_error(tensor._array.shape)


def unused_input(index: int, call: Any) -> Exception:
    """An input of grad() that the outputs do not depend on."""
    from retrograd.lifecycle import why

    return why.unused_error(index, call)


def invalid_gradient(name: str, index: int, got: Any, expected: Any) -> Exception:
    """A gradient whose shape does not fit the input it is for."""
    return _coded(
        f"Function {name} returned an invalid gradient at index {index} - got {list(got)} but "
        f"expected shape compatible with {list(expected)}"
    )


def complex_root(tensor: Any) -> Exception:
    """backward() without a gradient on a complex scalar."""
    return _coded(
        f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype!r}"
    )


def mismatched_gradient(index: int, gradient: Any, root: Any) -> Exception:
    """A starting gradient of another shape than its root."""
    return _coded(
        f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and "
        f"output[{index}] has a shape of {root.shape}."
    )


def mismatched_complex(index: int, gradient: Any, root: Any) -> Exception:
    """A complex gradient for a real root, or the other way round."""
    return _coded(
        f"For complex Tensors, both grad_output and output are required to have the same dtype. "
        f"Mismatch in dtype: grad_output[{index}] has a dtype of {gradient.dtype!r} and "
        f"output[{index}] has a dtype of {root.dtype!r}."
    )


_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "int64": "long",
    "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char",
    "bool": "bool",
}  # fmt: skip


def assigned_dtype(gradient: Any, tensor: Any) -> Exception:
    """`.grad =` of another dtype."""
    return _coded(
        f"attempting to assign a gradient with dtype '{_C_NAMES[gradient.dtype.name]}' to a tensor "
        f"with grad_dtype '{tensor.dtype.type_name}'. The gradient must match the tensor's "
        "grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype "
        "attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. "
        "Diverging the dtypes of a tensor and its gradient may break downstream systems that "
        "assume they match."
    )


def assigned_shape(gradient: Any, tensor: Any) -> Exception:
    """`.grad =` of another shape."""
    return _coded(
        f"attempting to assign a gradient of size '{list(gradient.shape)}' to a tensor of size "
        f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
    )


def warn_nonleaf_grad(tensor: Any) -> None:
    """`.grad` of a tensor that backward does not fill."""
    from retrograd.lifecycle import why

    message = (
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
        "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
        "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
        "instead. See github.com/pytorch/pytorch/pull/30531 for more information."
    )
    warnings.warn(why.nonleaf_grad_warning(message, tensor.grad_fn), stacklevel=3)
