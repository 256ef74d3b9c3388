"""Comparisons and logic: eq to ge, logical_and to logical_not, the tests for nan and infinity."""

from __future__ import annotations

import functools
from collections.abc import Callable

from retrograd import dtypes, samples
from retrograd.backend import apart, backend_of
from retrograd.ops import errors
from retrograd.ops.calling.aten_names import by_operands
from retrograd.ops.calling.devices import elsewhere
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.registry import RECORDED, composite, function_only, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_NAN, _INF = float("nan"), float("inf")


def _ordered(name: str) -> Callable[..., None]:
    """A check that refuses complex numbers, which have no order."""

    def check(input: Operand, other: Operand) -> None:
        found = dtypes.result_dtype([input, other])
        if found.is_complex:
            raise errors.not_implemented_for(name + "_cpu", found.numpy)

    return check


def _comparison_samples() -> list[Sample]:
    return samples.binary(
        dtypes=(*FLOATS, *HALVES),
        numbers=(1, 0.5, True),
        extra=[
            Sample(T(values=[1, 2, _NAN, _INF]), T(values=[1.0, 3, _NAN, _INF])),
            Sample(T(values=[1, 0], dtype="int64"), 0.5, grad=False),
            Sample(T(values=[44, 1], dtype="uint8"), 300, grad=False),
            Sample(T(3), T(3), dtypes=COMPLEX),
            Sample(T(3), 1 + 1j),
            Sample(2, T(3), error=(TypeError, "")),
            Sample(T(3), T(4), error=(RuntimeError, "The size of tensor a")),
        ],
    )()


_comparison = functools.partial(
    op,
    promote=True,
    out=True,
    samples=_comparison_samples,
    aten=by_operands("Tensor", "Scalar", "Tensor"),
)


@_comparison(ufunc="equal", operators=("__eq__",))
def eq(xp: Namespace, input: Array, other: Operand) -> Array:
    """``input == other``, elementwise."""
    return xp.equal(input, other)


@_comparison(ufunc="not_equal", operators=("__ne__",), public=("ne", "not_equal"))
def ne(xp: Namespace, input: Array, other: Operand) -> Array:
    """``input != other``, elementwise."""
    return xp.not_equal(input, other)


@_comparison(ufunc="less", check=_ordered("lt"), operators=("__lt__",), public=("lt", "less"))
def lt(xp: Namespace, input: Array, other: Operand) -> Array:
    """``input < other``, elementwise."""
    return xp.less(input, other)


@_comparison(
    ufunc="less_equal", check=_ordered("le"), operators=("__le__",), public=("le", "less_equal")
)
def le(xp: Namespace, input: Array, other: Operand) -> Array:
    """``input <= other``, elementwise."""
    return xp.less_equal(input, other)


@_comparison(ufunc="greater", check=_ordered("gt"), operators=("__gt__",), public=("gt", "greater"))
def gt(xp: Namespace, input: Array, other: Operand) -> Array:
    """``input > other``, elementwise."""
    return xp.greater(input, other)


@_comparison(
    ufunc="greater_equal",
    check=_ordered("ge"),
    operators=("__ge__",),
    public=("ge", "greater_equal"),
)
def ge(xp: Namespace, input: Array, other: Operand) -> Array:
    """``input >= other``, elementwise."""
    return xp.greater_equal(input, other)


# ---------------------------------------------------------------------------------------- logic


def _logic_samples() -> list[Sample]:
    return samples.binary(
        dtypes=(*FLOATS, *HALVES, *COMPLEX),
        numbers=(),
        extra=[
            Sample(T(values=[0, 1, _NAN, 0]), T(values=[0.0, 0, 1, 2])),
            Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
            Sample(T(3), 1, error=(TypeError, "")),
        ],
    )()


@op(ufunc="logical_and", out=True, samples=_logic_samples)
def logical_and(xp: Namespace, input: Array, other: Array) -> Array:
    """Whether both elements are nonzero."""
    return xp.logical_and(input, other)


@op(ufunc="logical_or", out=True, samples=_logic_samples)
def logical_or(xp: Namespace, input: Array, other: Array) -> Array:
    """Whether one of the elements is nonzero."""
    return xp.logical_or(input, other)


@op(ufunc="logical_xor", out=True, samples=_logic_samples)
def logical_xor(xp: Namespace, input: Array, other: Array) -> Array:
    """Whether exactly one of the elements is nonzero."""
    return xp.logical_xor(input, other)


_PREDICATE_SAMPLES = samples.unary(
    dtypes=(*FLOATS, *HALVES, *COMPLEX),
    extra=[
        Sample(T(values=[0, -0.0, 1, _NAN, _INF, -_INF]), dtypes=(*FLOATS, *HALVES)),
        Sample(T(values=[0j, complex(_NAN, 1), complex(1, _INF), complex(1, 0)]), dtypes=COMPLEX),
    ],
)


@op(ufunc="logical_not", out=True, samples=_PREDICATE_SAMPLES)
def logical_not(xp: Namespace, input: Array) -> Array:
    """Whether the element is zero."""
    return xp.logical_not(input)


def _in_place_predicates() -> None:
    """``eq_`` and the others: the result overwrites the tensor, so nothing of it is left."""
    names = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")
    aliases = {
        "ne": ("not_equal",), "lt": ("less",), "le": ("less_equal",), "gt": ("greater",),
        "ge": ("greater_equal",),
    }  # fmt: skip

    def publish(name: str) -> None:
        compare = getattr(RECORDED, name)

        def in_place(self: Tensor, other: Tensor | complex) -> Tensor:
            return self.copy_(compare(self, other))

        in_place.__doc__ = f"In-place version of `{name}`."
        methods = tuple(alias + "_" for alias in (name, *aliases.get(name, ())))
        composite(name=name + "_", namespace=None, methods=methods)(in_place)

    for name in names:
        publish(name)


_in_place_predicates()


@method_only()
def _logical_not_in_place(self: Tensor) -> Tensor:
    """In-place version of `logical_not`."""
    return self.copy_(RECORDED.logical_not(self))


# ----------------------------------------------------------------------------- kinds of numbers


@op(ufunc="isnan", samples=_PREDICATE_SAMPLES)
def isnan(xp: Namespace, input: Array) -> Array:
    """Whether the element is nan."""
    return xp.isnan(input)


@op(ufunc="isinf", samples=_PREDICATE_SAMPLES)
def isinf(xp: Namespace, input: Array) -> Array:
    """Whether the element is infinite."""
    return xp.isinf(input)


@op(ufunc="isfinite", samples=_PREDICATE_SAMPLES)
def isfinite(xp: Namespace, input: Array) -> Array:
    """Whether the element is neither infinite nor nan."""
    return xp.isfinite(input)


def _real_only(name: str) -> Callable[..., None]:
    def check(input: Array) -> None:
        if input.dtype in dtypes.COMPLEX_TYPES:
            raise errors.runtime_error(f"{name} does not support complex inputs.", code="RG304")

    return check


@op(
    fast=False,
    check=_real_only("isposinf"),
    out="isposinf does not support non-boolean outputs.",
    samples=_PREDICATE_SAMPLES,
    elementwise=True,
)
def isposinf(xp: Namespace, input: Array) -> Array:
    """Whether the element is positive infinity."""
    return xp.equal(input, _INF)


@op(
    fast=False,
    check=_real_only("isneginf"),
    out="isneginf does not support non-boolean outputs.",
    samples=_PREDICATE_SAMPLES,
    elementwise=True,
)
def isneginf(xp: Namespace, input: Array) -> Array:
    """Whether the element is negative infinity."""
    return xp.equal(input, -_INF)


@op(fast=False, samples=_PREDICATE_SAMPLES, elementwise=True)
def isreal(xp: Namespace, input: Array) -> Array:
    """Whether the element has no imaginary part."""
    return xp.equal(xp.imag(input), 0)


# ---------------------------------------------------------------------------------- closeness


def _check_close(input: Array, other: Array, *, rtol: float, atol: float, equal_nan: bool) -> None:
    if input.dtype is not other.dtype:
        raise errors.runtime_error(
            f"{dtypes.from_numpy_dtype(input.dtype).type_name} did not match "
            f"{dtypes.from_numpy_dtype(other.dtype).type_name}",
            code="RG301",
        )
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol:g}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol:g}")


def _close_samples() -> list[Sample]:
    near = [1.0, 2.0, _NAN, _INF, -_INF, 100.0, 0.0]
    far = [1.0 + 1e-6, 2.1, _NAN, _INF, _INF, 100.01, 1e-9]
    return [
        Sample(T(values=near), T(values=far)),
        Sample(T(values=near), T(values=far), equal_nan=True),
        Sample(T(values=near), T(values=far), 1e-3, 0.2),
        Sample(T(values=near), T(values=near), atol=0, rtol=0),
        Sample(T(3, 4), T(4), dtypes=(*FLOATS, *HALVES)),
        Sample(T(3), T(3), dtypes=COMPLEX),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), rtol=1, atol=1, grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
        Sample(T(3, dtype="float32"), T(3, dtype="float64"), grad=False),
        Sample(T(3), T(3), rtol=-1, error=(RuntimeError, "rtol must be")),
        Sample(T(3), 1.0, error=(TypeError, "")),
    ]


@inner_op(fast=False, check=_check_close, elementwise=True)
def isclose(
    xp: Namespace,
    input: Array,
    other: Array,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Whether ``|input - other| <= atol + rtol * |other|``, elementwise."""
    close = xp.equal(input, other)
    if equal_nan:
        close = xp.logical_or(close, xp.logical_and(xp.isnan(input), xp.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.kind in "biu":
        input, other = input.astype(dtypes.F64), other.astype(dtypes.F64)
    allowed = xp.absolute(other) * rtol + atol
    distance = xp.absolute(input - other)
    return xp.logical_or(close, xp.logical_and(xp.isfinite(distance), distance <= allowed))


@composite(samples=_close_samples)
def _isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, elementwise."""
    return RECORDED.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@composite(samples=_close_samples)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, see `isclose`.

    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    if input._level or getattr(other, "_level", 0):
        raise RuntimeError(
            "vmap over torch.allclose isn't supported yet. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    same: bool = _isclose(input, other, rtol, atol, equal_nan)._array.all().item()
    return same


def _equal_samples() -> list[Sample]:
    ones = T(values=[1.0, 2.0])
    return [
        Sample(ones, ones),
        Sample(ones, T(values=[1.0, 3.0])),
        Sample(ones, T(values=[[1.0, 2.0]])),
        Sample(T(values=[_NAN]), T(values=[_NAN])),
        Sample(T(0, 2), T(0, 2)),
        Sample(T(values=[1, 2], dtype="int64"), T(values=[1.0, 2.0]), grad=False),
        Sample(
            T(values=[1, 2], dtype="float32"), T(values=[1.0, 2.0], dtype="float64"), grad=False
        ),
    ]


@composite(samples=_equal_samples)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    if not isinstance(other, Tensor):
        raise errors.argument_type("equal", "other", 2, "Tensor", other)
    if input._level or other._level:
        raise RuntimeError(
            "Batching rule not implemented for aten::equal. We could not generate a fallback."
        )
    if input._array.dtype is dtypes.C32:
        raise errors.not_implemented_for("equal_cpu", dtypes.C32)
    if apart(input._array, other._array):
        told = elsewhere("_equal", {"self": input._array, "other": other._array})
        raise errors.runtime_error(told, code="RG308")
    return bool(backend_of(input._array).xp.array_equal(input._array, other._array))


def _isin_samples() -> list[Sample]:
    some = T(values=[[1, 2], [3, 5]], dtype="int64")
    return [
        Sample(some, T(values=[2, 3, 9], dtype="int64"), grad=False),
        Sample(some, T(values=[2, 3, 9], dtype="int64"), invert=True, grad=False),
        Sample(some, T(values=[2, 3], dtype="int64"), assume_unique=True, grad=False),
        Sample(some, 3, grad=False),
        Sample(3, some, grad=False),
        Sample(T(values=[1.0, 2.5, _NAN]), T(values=[2.5, _NAN]), grad=False),
        Sample(T(0), T(3), grad=False),
        Sample(T(3), T(0), grad=False),
    ]


@function_only(samples=_isin_samples)
def isin(
    elements: Tensor | complex,
    test_elements: Tensor | complex,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """Whether each of `elements` is one of `test_elements`; one of them may be a number."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise errors.invalid_combination("isin", (elements, test_elements))
    return RECORDED._isin(elements, test_elements, assume_unique, invert)


@op(
    fast=False,
    promote=True,
    aten=by_operands("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor"),
    event="isin",
)
def _isin(
    xp: Namespace, elements: Operand, test_elements: Operand, assume_unique: bool, invert: bool
) -> Array:
    return xp.isin(elements, test_elements, invert=invert)


# ------------------------------------------------------------------------------ facts of a tensor


@composite(
    methods=("is_nonzero", "__nonzero__"),
    samples=lambda: (
        [Sample(T(values=v)) for v in (0.0, 2.0, [[0.0]], [1.0, 2.0], [])]
        + [Sample(T(values=[False], dtype="bool"), grad=False), Sample(T(1), dtypes=COMPLEX)]
    ),
)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of the tensor is nonzero."""
    if input._array.size != 1:
        kind = "no values" if input._array.size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
    if input._level:
        return bool(input)  # raises
    found: bool = input._array.any().item()
    return found


@composite(samples=lambda: [Sample(T(2, 3), T(2, 3)), Sample(T(2, 3), T(3, 2)), Sample(T(), T(1))])
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return bool(input._array.shape == other._array.shape)
