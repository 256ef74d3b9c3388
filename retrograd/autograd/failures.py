"""The errors that autograd raises, each made in one place from recorded facts."""

from __future__ import annotations

import warnings
from typing import Any

from retrograd import dtypes


def leaf_written(writer: str) -> Exception:
    """An in-place op on a leaf that requires grad."""
    return RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def leaf_view_written(writer: str) -> Exception:
    """An in-place op on a view of a leaf that requires grad."""
    return RuntimeError(
        "a view of a leaf Variable that requires grad is being used in an in-place operation."
    )


def forbidden_view(message: str, creation: str | None) -> Exception:
    """A write to (or use of) a view that cannot follow its base."""
    return RuntimeError(message)


def nonleaf_flag() -> Exception:
    """`requires_grad = False` on a tensor with history."""
    return RuntimeError(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use var_no_grad = "
        "var.detach()."
    )


def nonfloat_flag(dtype: dtypes.dtype) -> Exception:
    """`requires_grad = True` on integers."""
    return RuntimeError("only Tensors of floating point and complex dtype can require gradients")


TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


def freed(node: Any, consumer: Any, call: Any, roots: Any) -> Exception:
    """A node whose saved values were released before."""
    return RuntimeError(TWICE)


def modified(
    node: Any, saved_name: str, value: Any, producer: str, cell: Any, expected: int
) -> Exception:
    """A saved value that was written in place since."""
    array = getattr(value, "_array", value)
    kind = dtypes.from_numpy_dtype(array.dtype).type_name
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind}Tensor {list(array.shape)}]{producer} is at version "
        f"{cell.version}; expected version {expected} instead. Hint: enable anomaly detection to "
        "find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def detached_in_place(node: Any) -> Exception:
    """A saved input that lost its history by `detach_()`."""
    return RuntimeError(
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
        "This is not supported, please use out-of-place `.detach()` instead"
    )


def no_history(index: int, tensor: Any) -> Exception:
    """A root of backward without a graph."""
    return RuntimeError(
        f"element {index} of tensors does not require grad and does not have a grad_fn"
    )


def not_scalar(tensor: Any) -> Exception:
    """backward() without a gradient on more than one element."""
    return RuntimeError("grad can be implicitly created only for scalar outputs")


def unused_input(index: int) -> Exception:
    """An input of grad() that the outputs do not depend on."""
    return RuntimeError(
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )


def invalid_gradient(name: str, index: int, got: Any, expected: Any) -> Exception:
    """A gradient whose shape does not fit the input it is for."""
    return RuntimeError(
        f"Function {name} returned an invalid gradient at index {index} - got {list(got)} but "
        f"expected shape compatible with {list(expected)}"
    )


def complex_root(tensor: Any) -> Exception:
    """backward() without a gradient on a complex scalar."""
    return RuntimeError(
        "grad can be implicitly created only for real scalar outputs but got "
        f"{tensor.dtype!r}"
    )


def mismatched_gradient(index: int, gradient: Any, root: Any) -> Exception:
    """A starting gradient of another shape than its root."""
    return RuntimeError(
        f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and "
        f"output[{index}] has a shape of {root.shape}."
    )


def mismatched_complex(index: int, gradient: Any, root: Any) -> Exception:
    """A complex gradient for a real root, or the other way round."""
    return RuntimeError(
        f"For complex Tensors, both grad_output and output are required to have the same dtype. "
        f"Mismatch in dtype: grad_output[{index}] has a dtype of {gradient.dtype!r} and "
        f"output[{index}] has a dtype of {root.dtype!r}."
    )


def assigned_dtype(gradient: Any, tensor: Any) -> Exception:
    """`.grad =` of another dtype."""
    return RuntimeError(
        f"attempting to assign a gradient with dtype '{gradient.dtype.type_name}' to a tensor with "
        f"dtype '{tensor.dtype.type_name}'. Please ensure that the gradient and the tensor have "
        "the same dtype"
    )


def assigned_shape(gradient: Any, tensor: Any) -> Exception:
    """`.grad =` of another shape."""
    return RuntimeError(
        f"attempting to assign a gradient of size '{list(gradient.shape)}' to a tensor of size "
        f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same size"
    )


def warn_nonleaf_grad(tensor: Any) -> None:
    """`.grad` of a tensor that backward does not fill."""
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
        "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
        "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
        "instead. See github.com/pytorch/pytorch/pull/30531 for more informations.",
        UserWarning,
        stacklevel=3,
    )
