"""Choosing between operands: where, maximum, minimum, fmax, fmin, clamp."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from retrograd import core, dtypes, samples
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.calling.dispatch import failure
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.making.arguments import as_element, check_limits
from retrograd.ops.registry import (
    OPS,
    Op,
    Table,
    composite,
    function_only,
    inner_op,
    method_only,
    op,
    table_entry,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

_NAN = float("nan")

# ---------------------------------------------------------------------------------------- where


def _check_condition(condition: Array) -> None:
    if condition.dtype not in (dtypes.B8, dtypes.uint8.numpy):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.from_numpy_dtype(condition.dtype).type_name}"
        )


def _same_dtype(xp: Namespace, *values: Operand) -> list[Array]:
    """The values as arrays of the dtype PyTorch promotes them to."""
    given = [xp.asarray(value) if hasattr(value, "dtype") else value for value in values]
    target = dtypes.result_dtype(given).numpy
    return [xp.asarray(value, target) for value in given]


# The condition comes last here: the first operand decides whether the short path is taken.
@op(
    input=lambda m, g, condition: m.where(condition, g, 0),
    other=lambda m, g, condition: m.where(condition, 0, g),
    half="move",
    out=True,
    lies=("condition", "input", "other"),
    forward="elementwise",
    aten="where.self",
)
def _choose(xp: Namespace, input: Operand, other: Operand, condition: Array) -> Array:
    _check_condition(condition)
    if getattr(input, "dtype", None) is not getattr(other, "dtype", 0):
        input, other = _same_dtype(xp, input, other)
    try:
        return xp.where(condition, input, other)
    except ValueError as error:  # sizes that differ are named from the condition on
        raise failure((condition, input, other), error) from None


def _raw_where(xp: Namespace, condition: Array, input: Operand, other: Operand) -> Array:
    if getattr(input, "dtype", None) is not getattr(other, "dtype", 0):
        input, other = _same_dtype(xp, input, other)
    return xp.where(condition, input, other)


def _recorded_where(condition: Tensor, input: Tensor | complex, other: Tensor | complex) -> Any:
    return OPS["_choose"].function(input, other, condition)


table_entry("where", _raw_where, _recorded_where)


def _where_samples() -> list[Sample]:
    def mask(*shape: int) -> T:
        return T(*shape, dtype="bool")

    every = (*FLOATS, *HALVES, *COMPLEX)
    found = [
        Sample(mask(3, 4), T(3, 4), T(3, 4), dtypes=every),
        Sample(mask(3, 1), T(4), T(), dtypes=every),
        Sample(mask(), T(2, 3), T(3)),
        Sample(mask(0, 3), T(3), T(1)),
        Sample(mask(4), T(4), 0.5, dtypes=every),
        Sample(mask(4), 2, T(4), dtypes=every),
        Sample(mask(4), 1.0, 2),
        Sample(mask(4), 1, 2),
        Sample(mask(4), True, False),
        Sample(mask(4), 1j, 2.0),
        Sample(T(4, dtype="uint8", low=0, high=1), T(4), T(4)),
        Sample(T(4, dtype="int64"), T(4), T(4), error=(RuntimeError, "where expected")),
        Sample(mask(3), T(3), T(4), error=(RuntimeError, "The size of tensor a")),
    ]
    kinds = ("float32", "float64", "int64", "uint8", "bool", "float16", "complex128")
    for first in kinds:
        found += [Sample(mask(3), T(3, dtype=first), T(3, dtype=k), grad=False) for k in kinds]
        scalars = [k for k in kinds if (first, k) != ("float16", "complex128")]
        found += [Sample(mask(3), T(3, dtype=first), T(dtype=k), grad=False) for k in scalars]
        found += [Sample(mask(3), T(3, dtype=first), n, grad=False) for n in (1, 1.5, True)]
    return found


def _check_where_out(input: Any, other: Any, out: Any) -> None:
    for position, (name, value) in enumerate((("input", input), ("other", other)), 2):
        if not isinstance(value, Tensor):
            raise errors.argument_type("where", name, position, "Tensor", value)
    found = dtypes.result_dtype([input._array, other._array])
    if out.dtype is not found:
        raise RuntimeError(
            f"Expected out type to be {found.type_name} but got {out.dtype.type_name}"
        )


@function_only(samples=_where_samples)
@forms(
    "(condition: Tensor) -> tuple[Tensor, ...]",
    "(condition: Tensor, input: Tensor | Number | complex, other: Tensor | Number | complex, *, "
    "out: Tensor | None = None) -> Tensor",
)
@core.shortcut("where", _choose)
def _where(
    condition: Tensor,
    input: Tensor | complex | None = None,
    other: Tensor | complex | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """Elements of `input` where `condition` is true, of `other` elsewhere.

    With the condition alone: the indices of its true elements, one tensor per dimension.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        given = (condition, input) if other is None else (condition, other)
        raise errors.invalid_combination("where", given)
    if isinstance(condition, Tensor) and condition.dtype is dtypes.uint8:
        warnings.warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead.",
            UserWarning,
            stacklevel=user_level(),
        )
    if out is not None:
        _check_where_out(input, other, out)
        return OPS["_choose"].function(input, other, condition, out=out)
    return OPS["_choose"].function(input, other, condition)


@method_only()
def _where_method(self: Tensor, condition: Tensor, other: Tensor | complex) -> Tensor:
    """Elements of this tensor where `condition` is true, of `other` elsewhere."""
    result: Tensor = OPS["_choose"].function(self, other, condition)
    return result


# --------------------------------------------------------------------------- maximum and minimum


def _no_complex(name: str) -> Callable[..., None]:
    def check(input: Array, other: Array) -> None:
        if input.dtype.kind == "c" or other.dtype.kind == "c":
            raise errors.runtime_error(f"{name} not implemented for complex tensors.", code="RG304")

    return check


def _shared(m: Table, g: Tensor, input: Tensor, other: Tensor, lost: Tensor) -> Tensor:
    """The gradient of the operand that was chosen, half of it where both are equal."""
    return m.masked_fill(m.where(m.eq(input, other), m.div(g, 2), g), lost, 0)


_MIXED_PAIRS = samples.binary(
    numbers=(),
    extra=[
        Sample(T(values=[1, 2, 3, _NAN, 1, _NAN]), T(values=[2, 2, 1, 1, _NAN, _NAN])),
        Sample(T(3), 2, error=(TypeError, "")),
        Sample(T(3), T(3), dtypes=COMPLEX),
    ],
)


@op(
    input=lambda m, g, input, other: _shared(m, g, input, other, m.lt(input, other)),
    other=lambda m, g, input, other: _shared(m, g, input, other, m.gt(input, other)),
    ufunc="maximum",
    promote=True,
    check=_no_complex("maximum"),
    out=True,
    samples=_MIXED_PAIRS,
)
def maximum(xp: Namespace, input: Array, other: Array) -> Array:
    """The larger of two elements; nan if one of them is. Equal elements share the gradient."""
    return xp.maximum(input, other)


@op(
    input=lambda m, g, input, other: _shared(m, g, input, other, m.gt(input, other)),
    other=lambda m, g, input, other: _shared(m, g, input, other, m.lt(input, other)),
    ufunc="minimum",
    promote=True,
    check=_no_complex("minimum"),
    out=True,
    samples=_MIXED_PAIRS,
)
def minimum(xp: Namespace, input: Array, other: Array) -> Array:
    """The smaller of two elements; nan if one of them is. Equal elements share the gradient."""
    return xp.minimum(input, other)


def _first_is_larger(m: Table, input: Tensor, other: Tensor) -> Tensor:
    return m.logical_or(m.ge(input, other), m.isnan(other))


def _first_is_smaller(m: Table, input: Tensor, other: Tensor) -> Tensor:
    return m.logical_or(m.le(input, other), m.isnan(other))


@op(
    input=lambda m, g, input, other: m.where(_first_is_larger(m, input, other), g, 0),
    other=lambda m, g, input, other: m.masked_fill(g, _first_is_larger(m, input, other), 0),
    ufunc="fmax",
    promote=True,
    check=_no_complex("fmax"),
    out=True,
    samples=_MIXED_PAIRS,
)
def fmax(xp: Namespace, input: Array, other: Array) -> Array:
    """The larger of two elements, ignoring nan where the other is a number."""
    return xp.fmax(input, other)


@op(
    input=lambda m, g, input, other: m.where(_first_is_smaller(m, input, other), g, 0),
    other=lambda m, g, input, other: m.masked_fill(g, _first_is_smaller(m, input, other), 0),
    ufunc="fmin",
    promote=True,
    check=_no_complex("fmin"),
    out=True,
    samples=_MIXED_PAIRS,
)
def fmin(xp: Namespace, input: Array, other: Array) -> Array:
    """The smaller of two elements, ignoring nan where the other is a number."""
    return xp.fmin(input, other)


# ---------------------------------------------------------------------------------------- clamp


def _check_clamp(input: Operand, min: Operand | None = None, max: Operand | None = None) -> None:
    found = dtypes.result_dtype([x for x in (input, min, max) if x is not None])
    if found.is_complex:
        raise errors.explained(
            NotImplementedError("clamp is not supported for complex types"), code="RG304"
        )
    for limit in (min, max):
        if isinstance(limit, (int, float)):
            as_element(limit, found)


def _inside(m: Table, input: Tensor, low: Tensor, high: Tensor) -> Tensor:
    if high is None:
        return m.ge(input, low)
    if low is None:
        return m.le(input, high)
    return m.logical_and(m.ge(input, low), m.le(input, high))


def _low_rule(m: Table, g: Tensor, input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    below = m.lt(input, min)
    if max is not None:
        below = m.logical_and(below, m.lt(min, max))
    return m.where(below, g, 0)


def _high_rule(m: Table, g: Tensor, input: Tensor, min: Tensor, max: Tensor) -> Tensor:
    above = m.gt(input, max)
    if min is not None:
        above = m.logical_or(above, m.lt(max, min))
    return m.where(above, g, 0)


@inner_op(
    input=lambda m, g, input, min, max: m.where(_inside(m, input, min, max), g, 0),
    promote=True,
    check=_check_clamp,
    node_name="ClampBackward1",
    inplace="clamp_",
    out=True,
    elementwise=True,
)
def clamp(
    xp: Namespace, input: Array, min: Operand | None = None, max: Operand | None = None
) -> Array:
    """Elements limited to [min, max], which are numbers."""
    check_limits(input, min, max)
    if min is not None:
        input = xp.maximum(min, input)  # the second where both are zeros
    return input if max is None else xp.minimum(max, input)


def _compiled_clamp(input: Array, min: Any = None, max: Any = None) -> Array | None:
    check_limits(input, min, max)
    found: Array | None
    if min is None:
        found = rows.not_above(max, input)
    else:
        found = rows.not_below(min, input) if max is None else rows.limited(input, min, max)
    return found


compiled_first("clamp", _compiled_clamp, short=True)


@op(
    input=lambda m, g, input, min, max: m.where(_inside(m, input, min, max), g, 0),
    min=_low_rule,
    max=_high_rule,
    promote=True,
    check=_check_clamp,
    inplace="clamp_",
    out=True,
    elementwise=True,
    aten="clamp.Tensor",
)
def _clamp_tensors(
    xp: Namespace, input: Array, min: Array | None = None, max: Array | None = None
) -> Array:
    """Elements limited to [min, max], which are tensors."""
    if min is not None:
        input = xp.maximum(input, min)
    return input if max is None else xp.minimum(input, max)


def _clamp_op(min: object, max: object) -> Op:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        for limit in (min, max):
            if limit is not None and not isinstance(limit, Tensor):
                raise errors.invalid_combination("clamp", (min, max))
        return OPS["_clamp_tensors"]
    return OPS["clamp"]


_TOO_LARGE = "value cannot be converted to type float without overflow"


def _clamp_samples() -> list[Sample]:
    every = (*FLOATS, *HALVES)
    points = T(values=[-1, 0, 0.5, 1, 2, _NAN])
    low, high = T(values=[0.0, 0, 1, 1, 1, 0]), T(values=[1.0, 1, 0, 1, 1, 1])
    found = [
        Sample(T(3, 4), -0.5, 1, dtypes=every),
        Sample(T(3, 4), min=0, dtypes=every),
        Sample(T(3, 4), max=0.5, dtypes=every),
        Sample(T(), 0.0, 1.0),
        Sample(T(0, 2), 0.0, 1.0),
        Sample(points, 0, 1),
        Sample(points, 1, 0),
        Sample(points, low, high),
        Sample(points, low),
        Sample(points, max=high),
        Sample(T(3, 4), T(4, high=0), T(3, 1, low=0.1), dtypes=every),
        Sample(T(4), T(3, 1, high=0), T(3, 1, low=0.1)),
        Sample(T(3), T(), None),
        Sample(T(3), error=(RuntimeError, "torch.clamp: At least one")),
        Sample(T(3), T(3), 1, error=(TypeError, "clamp() received")),
        Sample(T(3), 0, 1, dtypes=COMPLEX),
        Sample(T(3), float("-inf"), float("inf")),
        *(Sample(T(n), max=1e300, error=(RuntimeError, _TOO_LARGE)) for n in (0, 3, 5000)),
    ]
    for kind in ("int64", "uint8", "bool", "float16", "int8"):
        found += [Sample(T(4, dtype=kind), *c, grad=False) for c in ((0, 1), (0.5, 1.5), (None, 1))]
        found += [Sample(T(4, dtype=kind), T(4, dtype=k), grad=False) for k in ("int64", "float32")]
    return found


@composite(public=("clamp", "clip"), samples=_clamp_samples)
@core.shortcut("clamp", clamp)
def _clamp_function(
    input: Tensor,
    min: Tensor | float | None = None,
    max: Tensor | float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Elements limited to [min, max]: numbers or tensors, one of which may be left out.

    >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    chosen = _clamp_op(min, max).function
    result: Tensor = chosen(input, min, max) if out is None else chosen(input, min, max, out=out)
    return result


@method_only(methods=("clamp_", "clip_"), second_names=("torch.clamp_", "torch.clip_"))
def _clamp_in_place(
    self: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """In-place version of `clamp`."""
    return _clamp_op(min, max).in_place(self, min, max)


# --------------------------------------------------------------------------- clamp_min, clamp_max


@op(
    input=lambda m, g, input, min: m.where(m.ge(input, min), g, 0),
    promote=True,
    check=lambda input, min: _check_clamp(input, min),
    inplace="clamp_min_",
    out=True,
    label="clamp_min",
    elementwise=True,
)
def _clamp_min_number(xp: Namespace, input: Array, min: Operand) -> Array:
    check_limits(input, min)
    return xp.maximum(min, input)


compiled_first("_clamp_min_number", _compiled_clamp, short=True)


@op(
    input=lambda m, g, input, min: m.where(m.ge(input, min), g, 0),
    min=lambda m, g, input, min: m.where(m.lt(input, min), g, 0),
    promote=True,
    check=lambda input, min: _check_clamp(input, min),
    node_name="ClampMinBackward1",
    inplace="clamp_min_",
    out=True,
    elementwise=True,
    aten="clamp_min.Tensor",
)
def _clamp_min_tensor(xp: Namespace, input: Array, min: Array) -> Array:
    return xp.maximum(input, min)


@op(
    input=lambda m, g, input, max: m.where(m.le(input, max), g, 0),
    promote=True,
    check=lambda input, max: _check_clamp(input, max),
    inplace="clamp_max_",
    out=True,
    label="clamp_max",
    elementwise=True,
)
def _clamp_max_number(xp: Namespace, input: Array, max: Operand) -> Array:
    check_limits(input, max)
    return xp.minimum(max, input)


compiled_first(
    "_clamp_max_number", lambda input, max: _compiled_clamp(input, None, max), short=True
)


@op(
    input=lambda m, g, input, max: m.where(m.le(input, max), g, 0),
    max=lambda m, g, input, max: m.where(m.gt(input, max), g, 0),
    promote=True,
    check=lambda input, max: _check_clamp(input, max),
    node_name="ClampMaxBackward1",
    inplace="clamp_max_",
    out=True,
    elementwise=True,
    aten="clamp_max.Tensor",
)
def _clamp_max_tensor(xp: Namespace, input: Array, max: Array) -> Array:
    return xp.minimum(input, max)


def _one_sided(side: str, limit: object) -> Op:
    return OPS[f"_clamp_{side}_" + ("tensor" if isinstance(limit, Tensor) else "number")]


def _one_sided_samples() -> list[Sample]:
    every = (*FLOATS, *HALVES)
    points = T(values=[-1, 0, 0.5, 1, 2, _NAN])
    return [
        *(Sample(points, limit, dtypes=every) for limit in (0, 0.5, -3)),
        Sample(points, T(values=[0.0, 0, 1, 1, 1, 0])),
        Sample(T(3, 1), T(4)),
        Sample(T(4, dtype="int64"), 0.5, grad=False),
        Sample(T(4, dtype="int64"), T(4, dtype="float32"), grad=False),
        Sample(T(4), 0, dtypes=COMPLEX),
        Sample(T(4), -1e300, error=(RuntimeError, _TOO_LARGE)),
    ]


@composite(samples=_one_sided_samples)
def clamp_min(input: Tensor, min: Tensor | float | None, *, out: Tensor | None = None) -> Tensor:
    """Elements not below `min`, a number or a tensor."""
    chosen = _one_sided("min", min).function
    result: Tensor = chosen(input, min) if out is None else chosen(input, min, out=out)
    return result


@composite(samples=_one_sided_samples)
def clamp_max(input: Tensor, max: Tensor | float | None, *, out: Tensor | None = None) -> Tensor:
    """Elements not above `max`, a number or a tensor."""
    chosen = _one_sided("max", max).function
    result: Tensor = chosen(input, max) if out is None else chosen(input, max, out=out)
    return result


@method_only(second_names=("torch.clamp_min_",))
def clamp_min_(self: Tensor, min: Tensor | float | None) -> Tensor:
    """In-place version of `clamp_min`."""
    return _one_sided("min", min).in_place(self, min)


@method_only(second_names=("torch.clamp_max_",))
def clamp_max_(self: Tensor, max: Tensor | float | None) -> Tensor:
    """In-place version of `clamp_max`."""
    return _one_sided("max", max).in_place(self, max)
