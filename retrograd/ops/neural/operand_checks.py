"""What neural-network ops refuse: dtypes, shapes that do not broadcast, gradients nobody has."""

from __future__ import annotations

from collections.abc import Callable

from retrograd import dtypes
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.ops import errors
from retrograd.ops.kinds import Array
from retrograd.ops.sizes import broadcast_shapes
from retrograd.tensor import Tensor


def common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to; PyTorch's error where they do not."""
    try:
        return broadcast_shapes(a, b)
    except ValueError:
        raise errors.broadcast(a, b) from None


def is_floating(array: Array) -> bool:
    """Whether an array holds real floating point numbers (bfloat16 is no kind of its own)."""
    return array.dtype.kind == "f" or array.dtype is dtypes.BF16


def floating_only(kernel: str, *, complex_too: bool = False) -> Callable[..., None]:
    """A ``check=`` for ops whose PyTorch kernel, of this name, takes floats only."""

    def check(input: Array, *others: object, **options: object) -> None:
        if not is_floating(input) and not (complex_too and input.dtype.kind == "c"):
            raise errors.not_implemented_for(kernel, input.dtype)

    return check


def no_backward(function: str, **tensors: Tensor | None) -> None:
    """Refuse tensors that require a gradient where PyTorch has no derivative either."""
    for name, tensor in tensors.items():
        if tensor is not None and tensor.requires_grad and STATE.grad_enabled:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )


def no_gradient(function: str, **tensors: Tensor | None) -> None:
    """The same, and refuse tangents, too."""
    no_backward(function, **tensors)
    given = [tensor for tensor in tensors.values() if tensor is not None]
    if TRANSFORMS.dual_levels and TRANSFORMS.has_tangents(given):
        raise errors.no_forward_mode(function)
