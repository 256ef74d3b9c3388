"""Small fused formulas: addcmul, addcdiv, lerp, ldexp and its inverse frexp."""

from __future__ import annotations

import math
from typing import Any

from retrograd import dtypes, return_types
from retrograd.backend import is_array
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace, Operand
from retrograd.ops.registry import OPS, Op, composite, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)


def _check_value(found: dtypes.dtype, value: object) -> None:
    if isinstance(value, complex) and not found.is_complex:
        kind = {"Float": "float", "Double": "double"}.get(found.type_name, found.name)
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")


def _fused_samples(low: float) -> list[Sample]:
    def b(*shape: int, **more: Any) -> T:
        return T(*shape, low=low, **more)

    kinds = ("float32", "float64", "int64", "uint8", "bool", "float16")
    found = [
        Sample(T(3, 4), T(3, 4), b(3, 4), dtypes=_EVERY),
        Sample(T(3, 4), T(4), b(3, 1), value=0.5, dtypes=_EVERY),
        Sample(T(4), T(3, 1), b(3, 4), value=-2),
        Sample(T(), T(), b(), value=3),
        Sample(T(0, 3), T(3), b(1)),
        Sample(T(2), T(2), b(2), value=1j),
        Sample(T(2), T(2), b(2), value=1 + 2j, dtypes=COMPLEX),
        Sample(T(3), T(3), T(4), error=(RuntimeError, "The size of tensor a")),
        Sample(T(3), 2, T(3), error=(TypeError, "")),
    ]
    found += [
        Sample(T(3, dtype=x), T(3, dtype=y), b(3, dtype=z), grad=False)
        for x in kinds
        for y in kinds
        for z in ("float32", "int64")
    ]
    found += [Sample(*(T(3, dtype=k) for _ in range(3)), value=2, grad=False) for k in kinds]
    found += [Sample(*(T(3, dtype="int64") for _ in range(3)), value=1.5, grad=False)]
    return found


def _check_addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: complex) -> None:
    found = dtypes.result_dtype([input, tensor1, tensor2])
    if found is dtypes.bool_:
        raise errors.not_implemented_for("addcmul_cpu_out", found.numpy)
    _check_value(found, value)


@op(
    input=lambda m, g: g,
    tensor1=lambda m, g, tensor2, value: m.mul(g, m.mul(tensor2, value)),
    tensor2=lambda m, g, tensor1, value: m.mul(g, m.mul(tensor1, value)),
    promote=True,
    check=_check_addcmul,
    inplace=True,
    out=True,
    samples=lambda: _fused_samples(-2),
    elementwise=True,
    old_order=("value",),
)
def addcmul(
    xp: Namespace, input: Array, tensor1: Array, tensor2: Array, *, value: complex = 1
) -> Array:
    """``input + value * tensor1 * tensor2``."""
    product = xp.multiply(tensor1, tensor2)
    if value != 1:
        whole = input.dtype.kind in "iu"
        product = xp.multiply(product, xp.asarray(value).astype(input.dtype) if whole else value)
    return xp.add(input, product)


def _check_addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: complex) -> None:
    if dtypes.result_dtype([tensor1, tensor2]).category <= dtypes.INTEGER:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
            "behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to("
            "input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float "
            "inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )
    _check_value(dtypes.result_dtype([input, tensor1, tensor2]), value)


@op(
    input=lambda m, g: g,
    tensor1=lambda m, g, tensor2, value: m.mul(g, m.mul(m.reciprocal(tensor2), value)),
    tensor2=lambda m, g, tensor1, tensor2, value: m.mul(
        m.neg(g), m.div(m.mul(tensor1, value), m.mul(tensor2, tensor2))
    ),
    promote=True,
    check=_check_addcdiv,
    inplace=True,
    out=True,
    samples=lambda: _fused_samples(0.3),
    elementwise=True,
    old_order=("value",),
)
def addcdiv(
    xp: Namespace, input: Array, tensor1: Array, tensor2: Array, *, value: complex = 1
) -> Array:
    """``input + value * tensor1 / tensor2``."""
    scaled = tensor1 if value == 1 else xp.multiply(tensor1, value)
    return xp.add(input, xp.divide(scaled, tensor2))


# ------------------------------------------------------------------------------------------ lerp


def _lerp(xp: Namespace, input: Array, end: Array, weight: Operand) -> Array:
    """From the nearer end, as PyTorch does, so that weight 1 gives exactly `end`."""
    span = xp.subtract(end, input)
    near = xp.add(input, xp.multiply(span, weight))
    far = xp.subtract(end, xp.multiply(span, xp.subtract(1, weight)))
    return xp.where(xp.absolute(weight) < 0.5, near, far)


_DTYPE_WORDS = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "int64": "long int", "int32": "int", "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "bool": "bool", "uint8": "unsigned char",
    "int8": "signed char", "int16": "short int",
}  # fmt: skip


def _check_lerp(input: Array, end: Array, weight: Operand) -> None:
    for name, array in (("end", end), ("weight", weight)):
        if is_array(array) and array.dtype is not input.dtype:
            first, second = (dtypes.from_numpy_dtype(x.dtype).name for x in (input, array))
            raise errors.runtime_error(
                f"expected dtype {_DTYPE_WORDS[first]} for `{name}` but got dtype "
                f"{_DTYPE_WORDS[second]}",
                code="RG301",
            )
    if input.dtype not in dtypes.DIFFERENTIABLE:
        kind = "tensor" if is_array(weight) else "scalar"
        raise errors.not_implemented_for(f"lerp_kernel_{kind}", input.dtype)
    _check_value(dtypes.from_numpy_dtype(input.dtype), weight)


@op(
    input=lambda m, g, weight: m.mul(g, 1 - weight),
    end=lambda m, g, weight: m.mul(g, weight),
    promote=True,
    check=_check_lerp,
    inplace="lerp_",
    out="elementwise",
    elementwise=True,
    aten="lerp.Scalar",
)
def _lerp_number(xp: Namespace, input: Array, end: Array, weight: complex) -> Array:
    if abs(weight) < 0.5:
        return xp.add(input, xp.multiply(xp.subtract(end, input), weight))
    return xp.subtract(end, xp.multiply(xp.subtract(end, input), 1 - weight))


@inner_op(
    input=lambda m, g, weight: m.mul(g, m.rsub(weight, 1)),
    end=lambda m, g, weight: m.mul(g, weight),
    weight=lambda m, g, input, end: m.mul(g, m.sub(end, input)),
    promote=True,
    check=_check_lerp,
    node_name="LerpBackward1",
    inplace="lerp_",
    out="elementwise",
    elementwise=True,
)
def lerp(xp: Namespace, input: Array, end: Array, weight: Array) -> Array:
    """``input + weight * (end - input)``."""
    return _lerp(xp, input, end, weight)


def _lerp_op(weight: Tensor | complex) -> Op:
    return OPS["lerp" if isinstance(weight, Tensor) else "_lerp_number"]


def _lerp_samples() -> list[Sample]:
    return [
        *(Sample(T(3, 4), T(4), weight, dtypes=_EVERY) for weight in (0, 0.3, 0.5, 1, 1.5, -2)),
        Sample(T(3, 4), T(4), T(3, 1), dtypes=_EVERY),
        Sample(T(4), T(3, 1), T(2, 1, 1)),
        Sample(T(), T(), T()),
        Sample(T(3), T(3), T()),
        Sample(T(0), T(0), 0.5),
        Sample(T(3), T(3), 1j),
        Sample(T(3), T(3), 1 + 1j, dtypes=COMPLEX),
        Sample(T(3, dtype="float32"), T(3, dtype="float64"), 0.5, grad=False),
        Sample(T(3, dtype="float32"), T(3, dtype="float32"), T(3, dtype="float64"), grad=False),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), 0.5, grad=False),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
    ]


@composite(samples=_lerp_samples)
def _lerp_function(
    input: Tensor, end: Tensor, weight: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """``input + weight * (end - input)``; `weight` is a number or a tensor.

    >>> torch.lerp(torch.tensor([0.0]), torch.tensor([10.0]), 0.25)
    tensor([2.5000])
    """
    chosen = _lerp_op(weight).function
    result: Tensor = (
        chosen(input, end, weight) if out is None else chosen(input, end, weight, out=out)
    )
    return result


@method_only()
def _lerp_in_place(self: Tensor, end: Tensor, weight: Tensor | complex) -> Tensor:
    """In-place version of `lerp`."""
    return _lerp_op(weight).in_place(self, end, weight)


# ----------------------------------------------------------------------------------------- ldexp


def _check_ldexp(input: Array, other: Array) -> None:
    # PyTorch computes floating numbers with a kernel of their own
    if other.dtype is dtypes.B8 and dtypes.from_numpy_dtype(input.dtype).is_floating_point:
        raise errors.not_implemented_for("ldexp_cpu_exp", dtypes.B8)


@op(
    input=lambda m, g, other: m.mul(g, m.pow(2.0, other)),
    other=lambda m, g, out: m.mul(g, m.mul(out, math.log(2))),
    float_result=True,
    check=_check_ldexp,
    samples=lambda: [
        Sample(T(3, 4), T(4), dtypes=(*FLOATS, *HALVES)),
        Sample(T(3), T(3, low=0, dtype="int64")),
        Sample(T(3), T(values=2, dtype="int32")),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(3), T(3, dtype="bool"), grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), grad=False),
        Sample(T(3), 2, error=(TypeError, "")),
    ],
    inplace_names=("torch.ldexp_",),
    aten="ldexp.Tensor",
)
def ldexp(xp: Namespace, input: Array, other: Array) -> Array:
    """``input * 2**other``."""
    return xp.multiply(input, xp.exp2(other) if other.dtype.kind != "c" else xp.power(2, other))


def _check_frexp(input: Array) -> None:
    if not dtypes.from_numpy_dtype(input.dtype).is_floating_point:
        raise errors.runtime_error(
            "torch.frexp() only supports floating-point dtypes", code="RG304"
        )


@op(
    input=lambda m, g, out1: m.div(g[0], m.exp2(out1)),
    outputs=2,
    nondifferentiable=(1,),
    returns=return_types.frexp,
    check=_check_frexp,
    out=True,
    samples=lambda: [
        Sample(T(3, 4), dtypes=(*FLOATS, *HALVES)),
        Sample(T(values=[1.5, -3.0, 0.0, 8.0, float("inf")])),
        Sample(T()),
        Sample(T(3, dtype="int64"), grad=False),
        Sample(T(3), dtypes=COMPLEX),
    ],
    elementwise=True,
    aten="frexp.Tensor",
    saved_names={"exponent": "out1"},
)
def frexp(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """Mantissa in [0.5, 1) and exponent with ``input == mantissa * 2**exponent``."""
    mantissa, exponent = xp.frexp(input)
    return mantissa, exponent
