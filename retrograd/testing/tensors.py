"""`make_tensor`: random tensors for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.lifecycle.site import user_level
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor
from retrograd.tensor.size import refuse_elsewhere


def _bounds(low: float | None, high: float | None, kind: dtypes.dtype) -> tuple[float, float]:
    """The interval of the values, inside what the dtype can hold."""
    whole = kind.category <= dtypes.INTEGER
    if kind is dtypes.bool_:
        least, beyond, usual = 0.0, 2.0, (0, 2)
    elif whole:
        limits = dtypes.iinfo(kind)
        least, beyond = limits.min, limits.max + (kind is not dtypes.int64)
        usual = (-9, 10)
    else:
        range_ = dtypes.finfo(kind)
        least, beyond, usual = range_.min, range_.max, (-9, 9)
    low = usual[0] if low is None else low
    high = usual[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and not whole:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=user_level(),
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= beyond:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {kind} only "
            f"supports [{least}, {beyond})"
        )
    low, high = (min(max(value, least), beyond) for value in (low, high))
    return (math.ceil(low), math.ceil(high)) if whole else (low, high)


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: object,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: object = None,
) -> Tensor:
    """A tensor of random numbers between `low` and `high`, which have defaults for each dtype.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    refuse_elsewhere("make_tensor", device)
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    whole = dtype.category <= dtypes.INTEGER
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if requires_grad and whole:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    apart = noncontiguous and math.prod(sizes) > 1
    if apart:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    first, last = _bounds(low, high, dtype)
    made: Any
    if whole:
        made = PUBLIC["torch"]["randint"](first, last, sizes, dtype=dtype)
    else:
        made = PUBLIC["torch"]["empty"](sizes, dtype=dtype)
        numbers = PUBLIC["torch"]["view_as_real"](made) if dtype.is_complex else made
        if last - first >= dtypes.finfo(dtype).max:  # the width itself would overflow
            numbers.uniform_(first / 2, last / 2).mul_(2)
        else:
            numbers.uniform_(first, last)
    if apart:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = 1 if whole else dtypes.finfo(dtype).tiny
    if not whole:
        made.requires_grad = requires_grad
    return made  # type: ignore[no-any-return]
