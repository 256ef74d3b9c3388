"""Evenly spaced numbers: arange, range, linspace, logspace."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.lifecycle.site import user_level
from retrograd.ops.errors import not_implemented_for
from retrograd.ops.making.arguments import (
    as_integer,
    as_number,
    as_real,
    check_place,
    invalid_combination,
    is_finite,
)
from retrograd.ops.making.creation import deliver, publish
from retrograd.ops.registry import attach
from retrograd.random.arithmetic import fma32, fma64
from retrograd.signatures import CREATION, forms
from retrograd.tensor import Array, Tensor
from retrograd.tensor.size import Device, layout, strided


def _range_bounds(function: str, args: tuple[object, ...], named: dict[str, object]) -> list[Any]:
    """start, end, step of the forms (end), (start, end) and (start, end, step)."""
    names = ("end",) if len(args) == 1 and "end" not in named else ("start", "end", "step")
    given = dict(zip(names, args, strict=False))
    for name in ("start", "end", "step"):
        if name in named:
            given[name] = named.pop(name)
    if named:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(named))}'")
    if "end" not in given or len(args) > 3:
        forms = "Number end\nNumber start, Number end\nNumber start, Number end, Number step"
        raise invalid_combination(function, args, forms)
    bounds = [given.get("start", 0), given["end"], given.get("step", 1)]
    found = []
    for position, name in enumerate(("start", "end", "step")):
        place = 1 if name == "end" and "start" not in given else position + 1
        found.append(as_number(function, name, place, bounds[position]))
    return found


@publish
@forms(
    f"(end: Tensor | Number, *, out: Tensor | None = None, {CREATION}) -> Tensor",
    "(start: Tensor | Number, end: Tensor | Number, step: Tensor | Number = 1, *, "
    f"out: Tensor | None = None, {CREATION}) -> Tensor",
)
def arange(
    *args: Any,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    """Numbers from `start` (0) up to but not including `end`, in steps of `step` (1).

    >>> torch.arange(1, 6, 2)
    tensor([1, 3, 5])
    """
    start, end, step = (as_real(n) for n in _range_bounds("arange", args, named))
    place = check_place("arange", layout, device, pin_memory)
    kind = dtypes.as_dtype(dtype, "arange")
    if kind is None:
        if out is not None:
            kind = out.dtype
        elif any(isinstance(n, float) for n in (start, end, step)):
            kind = dtypes.get_default_dtype()
        else:
            kind = dtypes.int64
    if kind.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise not_implemented_for("arange_cpu", kind.numpy)
    _check_range(start, end, step)
    count = _length(start, end, step, kind)
    array = place.computed((count,), kind.numpy, _arange, start, step, count, kind)
    return deliver("arange", array, out, dtype, requires_grad)


def _check_range(start: float, end: float, step: float) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (is_finite(start) and is_finite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (step > 0 and start > end) or (step < 0 and start < end):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _length(start: Any, end: Any, step: Any, kind: dtypes.dtype) -> int:
    if kind is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
        count: int = -(-(end - start) // step)
        return count
    return math.ceil((float(end) - float(start)) / float(step))


def _arange(start: Any, step: Any, count: int, kind: dtypes.dtype) -> Array:
    if kind is dtypes.int64:
        whole: Array = np.arange(count, dtype=np.int64) * int(step) + int(start)
        return whole
    if kind.category == dtypes.INTEGER:
        start, step = int(start), int(step)
        numbers: Array = np.arange(count, dtype=np.int64) * step + start
    else:
        numbers = np.arange(count, dtype=np.float64) * float(step) + float(start)
    return numbers.astype(kind.numpy)


def _range(
    start: int,
    end: float | None = None,
    step: float = 1,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Deprecated: like `arange`, but `end` belongs to the result and the dtype is a float."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior "
        "is inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=user_level(),
    )
    if end is None:
        start, end = 0, start
    first, last, width = (as_real(as_number("range", "end", 2, n)) for n in (start, end, step))
    place = check_place("range", layout, device, pin_memory)
    _check_range(first, last, width)
    kind = dtypes.as_dtype(dtype, "range") or dtypes.get_default_dtype()
    if kind is dtypes.complex32:
        raise not_implemented_for("range_cpu", kind.numpy)
    count = int((last - first) / width + 1)
    array = place.computed((count,), kind.numpy, _evenly, first, width, count, kind)
    return deliver("range", array, out, dtype, requires_grad)


def _evenly(first: float, width: float, count: int, kind: dtypes.dtype) -> Array:
    return (np.arange(count, dtype=np.float64) * width + first).astype(kind.numpy)


attach(_range, public=("range",))


_COMPLEX_NAMES = {
    dtypes.complex32: "c10::complex<c10::Half>",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
}


def _spaced_type(dtype: dtypes.dtype | None, name: str, *bounds: object) -> dtypes.dtype:
    kind = dtypes.as_dtype(dtype, name)
    if kind is None:
        is_complex = any(isinstance(n, complex) for n in bounds)
        kind = dtypes.default_complex() if is_complex else dtypes.get_default_dtype()
    elif not kind.is_complex and any(isinstance(n, complex) for n in bounds):
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {_COMPLEX_NAMES[dtypes.default_complex()]} can't be "
            f"safely cast to passed dtype {kind.type_name}"
        )
    if kind is dtypes.bool_ or kind is dtypes.complex32:
        raise not_implemented_for(f"{name}_cpu", kind.numpy)
    return kind


def _bound(function: str, name: str, position: int, value: Tensor | complex) -> Any:
    if isinstance(value, Tensor) and value._array.ndim:
        raise RuntimeError(
            f"{function} only supports 0-dimensional start and end tensors, but got {name} with "
            f"{value._array.ndim} dimension(s)."
        )
    return as_number(function, name, position, value)


def _spaced(start: Any, end: Any, steps: int, kind: dtypes.dtype) -> Array:
    """Both halves are measured from their own end, so that the last number is `end` itself."""
    if steps < 2:
        return np.full(steps, start).astype(kind.numpy)
    place = np.arange(steps)
    back = steps - 1 - place
    if kind.category == dtypes.COMPLEX or kind.numpy in dtypes.HALF_TYPES:
        # every operation is rounded
        element = kind.numpy.type
        first, last = element(start), element(end)
        width = (last - first) / element(steps - 1)
        up, down = first + width * place.astype(element), last - width * back.astype(element)
    elif kind is dtypes.float32:
        # product and sum are rounded together
        first, last = np.float32(start), np.float32(end)
        width = (last - first) / np.float32(steps - 1)
        up = fma32(place.astype(np.float32), float(width), float(first))
        down = fma32(back.astype(np.float32), -float(width), float(last))
    else:
        if kind.category == dtypes.INTEGER:
            start, end = int(start), int(end)
        step = (float(end) - float(start)) / (steps - 1)
        up = fma64(place.astype(np.float64), step, float(start))
        down = fma64(back.astype(np.float64), -step, float(end))
    numbers: Array = np.where(place < steps // 2, up, down)
    return numbers.astype(kind.numpy)


@publish
def linspace(
    start: Tensor | float,
    end: Tensor | float,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, evenly spaced.

    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    first = _bound("linspace", "start", 1, start)
    last = _bound("linspace", "end", 2, end)
    count = as_integer("linspace", "steps", 3, steps)
    place = check_place("linspace", layout, device, pin_memory)
    kind = _spaced_type(
        dtype if dtype is not None or out is None else out.dtype, "linspace", first, last
    )
    _check_steps(count)
    with np.errstate(all="ignore"):
        array = place.computed((count,), kind.numpy, _spaced, first, last, count, kind)
    return deliver("linspace", array, out, dtype, requires_grad)


@publish
def logspace(
    start: Tensor | float,
    end: Tensor | float,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`base` to the powers of `linspace(start, end, steps)`."""
    first = _bound("logspace", "start", 1, start)
    last = _bound("logspace", "end", 2, end)
    count = as_integer("logspace", "steps", 3, steps)
    place = check_place("logspace", layout, device, pin_memory)
    kind = _spaced_type(
        dtype if dtype is not None or out is None else out.dtype, "logspace", first, last
    )
    _check_steps(count)
    with np.errstate(all="ignore"):
        array = place.computed((count,), kind.numpy, _powers, base, first, last, count, kind)
    return deliver("logspace", array, out, dtype, requires_grad)


def _check_steps(count: int) -> None:
    if count < 0:
        raise RuntimeError("number of steps must be non-negative")


def _powers(base: float, first: Any, last: Any, count: int, kind: dtypes.dtype) -> Array:
    wide = dtypes.complex128 if kind.is_complex else dtypes.float64
    powers = np.power(np.asarray(base, wide.numpy), _spaced(first, last, count, wide))
    found: Array = powers.astype(kind.numpy)
    return found
