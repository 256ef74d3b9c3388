"""What the neural-network ops share: dtype checks and ``reduction=``."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from retrograd import dtypes
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import OPS, attach
from retrograd.ops.sizes import broadcast_shapes
from retrograd.tensor import Tensor

# ---------------------------------------------------------------------------- shapes and dtypes


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


# ------------------------------------------------------------------------------- in-place twins


def inplace_twin(
    name: str, *, method: bool = False, namespaces: tuple[str, ...] = ()
) -> Callable[..., Tensor]:
    """The in-place function of an op, published where PyTorch has it."""
    function = OPS[name].in_place
    if not method:
        delattr(Tensor, function.__name__)
    for namespace in namespaces:
        attach(function, namespace=namespace, public=(function.__name__,))
    return function


# ----------------------------------------------------------------------------------- reduction

NONE, MEAN, SUM = range(3)
_REDUCTIONS = {"mean": MEAN, "sum": SUM, "none": NONE}


def reduction_code(reduction: str) -> int:
    """The number that PyTorch gives a reduction; ValueError for an unknown one.

    >>> reduction_code("sum")
    2
    """
    code = _REDUCTIONS.get(reduction)
    if code is not None:
        return code
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            UserWarning,
            stacklevel=3,
        )
        return MEAN
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the old arguments `size_average` and `reduce` stand for, with a warning.

    >>> legacy_reduction(None, None, "sum")
    'sum'
    """
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        meant = "none"
    else:
        meant = "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.",
        UserWarning,
        stacklevel=3,
    )
    return meant


attach(legacy_reduction, namespace="nn.functional", public=("legacy_reduction",))


def reduced(xp: Namespace, losses: Array, reduction: int) -> Array:
    """Losses of the elements put together: all of them, their mean or their sum."""
    if reduction == NONE:
        return losses
    total = xp.sum_all(losses)
    return total if reduction == SUM else xp.divide(total, losses.size)


def apply_reduction(loss: Tensor, reduction: str) -> Tensor:
    """The same on a Tensor, recorded."""
    code = reduction_code(reduction)
    if code == MEAN:
        return loss.mean()
    return loss.sum() if code == SUM else loss
