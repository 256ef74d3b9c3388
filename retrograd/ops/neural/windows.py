"""Options of sliding windows as users give them: one number for all dimensions, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrograd import dtypes
from retrograd.ops import errors
from retrograd.ops.kinds import Array
from retrograd.ops.registry import attach
from retrograd.ops.sizes import as_integer, as_integers
from retrograd.tensor import Tensor

Sizes = tuple[int, ...]

AXIS_LETTERS = {1: "W", 2: "HW", 3: "THW"}


def window_option(function: str, name: str, position: int, value: object) -> Sizes:
    """A window's size, stride ...: a tuple of ints, of length one where one number was given."""
    if type(value) is int:
        return (value,)
    if isinstance(value, (tuple, list)):
        return as_integers(function, name, position, value)
    try:
        return (as_integer(value, function, name, position),)
    except TypeError:
        raise errors.argument_type(function, name, position, "tuple of ints", value) from None


def spread(values: Sizes, dimensions: int) -> Sizes:
    """One number for all dimensions, repeated for each; more are left as they are."""
    return values * dimensions if len(values) == 1 else values


def also_in_torch(*functions: Callable[..., object]) -> None:
    """Publish functions of `nn.functional` in the main namespace too."""
    for function in functions:
        attach(function, namespace="torch", public=(function.__name__,))


def sizes_text(sizes: Sequence[int], between: str = "x") -> str:
    """Sizes as messages print them: 3x7x8."""
    return between.join(str(size) for size in sizes)


def refuse_types(kernel: str, array: Array, allowed: Callable[[dtypes.dtype], bool]) -> None:
    """Raise PyTorch's error for a dtype that its kernel of this name does not take."""
    if not allowed(dtypes.from_numpy_dtype(array.dtype)):
        raise errors.not_implemented_for(kernel, array.dtype)


def is_real_floating(found: dtypes.dtype) -> bool:
    """float16, bfloat16, float32 and float64."""
    return found.is_floating_point


def is_real_number(found: dtypes.dtype) -> bool:
    """Every dtype but bool and the complex ones."""
    return found.category in (dtypes.INTEGER, dtypes.FLOAT)


def require_tensors(function: str, **values: object) -> None:
    """Refuse arguments that are no tensors in PyTorch's words."""
    for position, (name, value) in enumerate(values.items(), start=1):
        if not isinstance(value, Tensor):
            raise errors.argument_type(function, name, position, "Tensor", value)
