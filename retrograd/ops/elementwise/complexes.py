"""Complex numbers: parts, conjugates, angles, and the views between complex and real."""

from __future__ import annotations

import math

from retrograd import dtypes, samples
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Namespace, Operand
from retrograd.ops.registry import RECORDED, Table, composite, function_only, op, table_entry
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)

# ------------------------------------------------------------------------------------ conjugates
# PyTorch's conj() marks a view; here it computes. On real tensors both return the tensor itself.


@op(
    input=lambda m, g: m.conj(g),
    moves=True,
    ufunc="conjugate",
    aten="_conj",
    event="conj",
)
def _conj(xp: Namespace, input: Array) -> Array:
    return xp.conjugate(input)


@op(
    input=lambda m, g: m.conj(g),
    moves=True,
    inplace="conj_physical_",
    out="elementwise",
    elementwise=True,
    inplace_names=("torch.conj_physical_",),
    aten="_conj_physical",
    event="conj_physical",
)
def _conj_physical(xp: Namespace, input: Array) -> Array:
    return xp.conjugate(input) if input.dtype in dtypes.COMPLEX_TYPES else xp.array(input)


_CONJ_SAMPLES = samples.unary(dtypes=_EVERY)


@composite(samples=_CONJ_SAMPLES)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor as it is."""
    if input._array.dtype not in dtypes.COMPLEX_TYPES:
        return input
    return RECORDED._conj(input)


def _raw_conj(xp: Namespace, value: Array) -> Array:
    kind = getattr(value, "dtype", None)
    if kind is None:
        return value.conjugate() if isinstance(value, complex) else value
    return xp.conjugate(value) if kind in dtypes.COMPLEX_TYPES else value


table_entry("conj", _raw_conj, conj)


@composite(samples=_CONJ_SAMPLES)
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; a real tensor as it is."""
    if out is not None:
        return RECORDED._conj_physical(input, out=out)
    return (
        input if input._array.dtype not in dtypes.COMPLEX_TYPES else RECORDED._conj_physical(input)
    )


# ----------------------------------------------------------------------------------------- views


def _check_as_real(input: Array) -> None:
    if input.dtype not in dtypes.COMPLEX_TYPES:
        raise errors.runtime_error(
            "view_as_real is only supported for complex tensors", code="RG304"
        )


def _parts_type(array: Array) -> DType:
    kind: DType = dtypes.from_numpy_dtype(array.dtype).to_real().numpy
    return kind


@op(
    input=lambda m, g: m._make_complex(m.select(g, -1, 0), m.select(g, -1, 1)),
    view="always",
    fast=False,
    check=_check_as_real,
    methods=(),
    samples=lambda: [Sample(T(*s), dtypes=COMPLEX) for s in ((), (3,), (2, 3))] + [Sample(T(3))],
    another_dtype=True,
)
def view_as_real(xp: Namespace, input: Array) -> Array:
    """A real view with a last dimension of size two: real and imaginary part."""
    return input[..., None].view(_parts_type(input))


def _check_as_complex(input: Array) -> None:
    if input.dtype not in (dtypes.F16, dtypes.F32, dtypes.F64):
        raise errors.runtime_error(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {dtypes.from_numpy_dtype(input.dtype).type_name}",
            code="RG304",
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.size and input.strides[-1] != input.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(stride % (2 * input.itemsize) for stride in input.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")


@op(
    input=lambda m, g: m.view_as_real(g),
    view="always",
    fast=False,
    check=_check_as_complex,
    methods=(),
    samples=lambda: [
        *(Sample(T(*s)) for s in ((2,), (3, 2), (4, 3, 2))),
        Sample(T(3)),
        Sample(T()),
        Sample(T(2, dtype="int64")),
    ],
    autocast="float32",
    another_dtype=True,
)
def view_as_complex(xp: Namespace, input: Array) -> Array:
    """A complex view of a real tensor whose last dimension holds real and imaginary parts."""
    pairs: Array = input.view(dtypes.from_numpy_dtype(input.dtype).to_complex().numpy)
    return pairs[..., 0]


# ----------------------------------------------------------------------------------------- parts


@function_only(samples=lambda: [Sample(T(2, 3), dtypes=_EVERY)])
def real(input: Tensor) -> Tensor:
    """The real part, a view; a real tensor as it is."""
    if input._array.dtype not in dtypes.COMPLEX_TYPES:
        return input
    return RECORDED.select(RECORDED.view_as_real(input), -1, 0)


@function_only(samples=lambda: [Sample(T(2, 3), dtypes=(*FLOATS, *COMPLEX))])
def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view; an error for real tensors."""
    if input._array.dtype not in dtypes.COMPLEX_TYPES:
        raise errors.runtime_error(
            "imag is not implemented for tensors with non-complex dtypes.", code="RG304"
        )
    return RECORDED.select(RECORDED.view_as_real(input), -1, 1)


def _set_real(self: Tensor, value: Tensor | complex) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Tensor | complex) -> None:
    imag(self).copy_(value)


setattr(Tensor, "real", property(real, _set_real))  # noqa: B010 (slots are declared elsewhere)
setattr(Tensor, "imag", property(imag, _set_imag))  # noqa: B010


def _raw_part(xp: Namespace, value: Array, place: int) -> Array:
    if getattr(value, "dtype", None) is dtypes.C32:
        pairs: Array = value[..., None].view(dtypes.F16)
        return pairs[..., place]
    return xp.imag(value) if place else xp.real(value)


table_entry("real", lambda xp, a: _raw_part(xp, a, 0), real)
table_entry("imag", lambda xp, a: _raw_part(xp, a, 1), imag)


# ---------------------------------------------------------------------------------- construction


def _check_parts(real: Array, imag: Array) -> None:
    first, second = (dtypes.from_numpy_dtype(part.dtype) for part in (real, imag))
    allowed = (dtypes.float16, dtypes.float32, dtypes.float64)
    if first not in allowed or second not in allowed:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{first.type_name} and {second.type_name}"
        )
    if first is not second:
        raise errors.runtime_error(
            f"Expected object of scalar type {first.type_name} but got scalar type "
            f"{second.type_name} for second argument",
            code="RG301",
        )


def _pair(xp: Namespace, real: Operand, imag: Operand) -> Array:
    real, imag = xp.broadcast_arrays(real, imag)
    parts = xp.empty((*real.shape, 2), real.dtype)
    parts[..., 0] = real
    parts[..., 1] = imag
    pairs: Array = parts.view(dtypes.from_numpy_dtype(real.dtype).to_complex().numpy)
    return pairs[..., 0]


@op(
    real=lambda m, g: m.real(g),
    imag=lambda m, g: m.imag(g),
    moves=True,
    fast=False,
    check=_check_parts,
    out="Expected object of scalar type {result} but got scalar type {out} for argument 'out'",
    label="complex",
    elementwise=True,
)
def _make_complex(xp: Namespace, real: Array, imag: Array) -> Array:
    """Complex numbers from real and imaginary parts."""
    return _pair(xp, real, imag)


_PART_SAMPLES = [
    Sample(T(3, 4, low=0.2), T(3, 4)),
    Sample(T(3, 4, low=0.2), T(4)),
    Sample(T(low=0.2), T(2)),
    Sample(T(3, dtype="float32"), T(3, dtype="float64"), grad=False),
    Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
]


@function_only(samples=lambda: _PART_SAMPLES)
def _complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from real and imaginary parts.

    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    if out is not None:
        return RECORDED._make_complex(real, imag, out=out)
    return RECORDED._make_complex(real, imag)


def _check_polar(abs: Array, angle: Array) -> None:
    _check_parts(abs, angle)
    if abs.dtype is dtypes.F16:
        raise errors.not_implemented_for("polar_cpu", abs.dtype)


@op(
    abs=lambda m, g, out: m.real(m.mul(m.conj(g), m.sgn(out))),
    angle=lambda m, g, out: m.real(m.mul(m.conj(g), m.mul(out, 1j))),
    holomorphic=False,
    fast=False,
    check=_check_polar,
    methods=(),
    out=True,
    samples=lambda: _PART_SAMPLES,
    elementwise=True,
    autocast="float32",
)
def polar(xp: Namespace, abs: Array, angle: Array) -> Array:
    """Complex numbers from absolute values and angles."""
    return _pair(xp, xp.multiply(abs, xp.cos(angle)), xp.multiply(abs, xp.sin(angle)))


# ----------------------------------------------------------------------------------------- angle


def _angle_rule(m: Table, g: Tensor, input: Tensor, input_dtype: DType) -> Tensor:
    if input_dtype.kind != "c":
        return m.zeros_like(g)
    turned = m.mul(m.div(m.mul(g, input), m.pow(m.abs(input), 2)), 1j)
    return m.where(m.eq(input, 0), 0, turned)


@op(
    input=_angle_rule,
    holomorphic=False,
    float_result=True,
    samples=samples.unary(
        dtypes=_EVERY,
        extra=[
            Sample(T(values=[0.0, -0.0, -1.0, float("nan"), float("-inf")])),
            Sample(T(values=[0j, 1j, -1 + 0j]), dtypes=COMPLEX, second=False),
        ],
    ),
    inplace=False,
)
def angle(xp: Namespace, input: Array) -> Array:
    """The angle of a complex number in radians; of a real one 0 or pi."""
    if input.dtype.kind == "c":
        return xp.angle(input)
    result = xp.where(input < 0, math.pi, 0.0).astype(input.dtype)
    result[xp.isnan(input)] = math.nan
    return result
