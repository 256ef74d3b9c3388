"""Normals in groups of 16: PyTorch's Box-Muller transform of 16 uniforms u.

    radius = sqrt(-2 log(1 - u[0:8]))
    angle = 2 pi u[8:16]
    normals = radius cos(angle), radius sin(angle)

The float32 logarithm, sine and cosine are the polynomials of the Cephes library, evaluated with
fused multiply-adds. A float32 fused multiply-add is computed as float64 multiply, add, round:
rounding twice could in principle go wrong, but a uniform has 24 bits, and the results agree for
all 2**24 radii and all 2**24 angles.
"""

from __future__ import annotations

import math

import numpy as np

from retrograd.random.arithmetic import CLibrary
from retrograd.random.generator import Array

__all__ = ["box_muller32", "box_muller64"]

_GROUPS = 768  # per piece: its work arrays stay in the cache


# Constants are arrays without dimensions: the cheapest operands NumPy takes.


def _float32(number: float) -> Array:
    return np.array(number, np.float32)


def _wide(*numbers: float) -> list[Array]:
    """float32 constants, held as float64."""
    return [np.array(np.float32(number), np.float64) for number in numbers]


def _int32(number: int) -> Array:
    return np.array(number, np.int32)


_LOG = _wide(
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_SIN = _wide(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _wide(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2_HIGH, _LN2_LOW = _float32(0.693359375), _float32(-2.12194440e-4)
_PI_4_HIGH, _PI_4_MIDDLE = _float32(-0.78515625), _float32(-2.4187564849853515625e-4)
_PI_4_LOW = _wide(-3.77489497744594108e-8)[0]
_TURN, _EIGHTHS = _float32(2 * math.pi), _float32(1.27323954473516)
_ONE, _HALF, _MINUS_TWO = _float32(1.0), _float32(0.5), _float32(-2.0)
_WIDE_HALF = np.array(0.5)
_SQRT_HALF_BITS, _MANTISSA, _MANTISSA_SIZE = _int32(0x3F3504F3), _int32(0x7FFFFF), _int32(23)
_1, _2, _4, _29, _30, _31, _EVEN = (_int32(i) for i in (1, 2, 4, 29, 30, 31, ~1))


def _round(y: Array) -> None:
    """Round float64 numbers to float32, in place."""
    y[...] = y.astype(np.float32)


def _polynomial(x: Array, coefficients: list[Array]) -> Array:
    """((c0 * x + c1) * x + c2) ..., every step rounded to float32; the arrays are float64."""
    y = x * coefficients[0]
    y += coefficients[1]
    _round(y)
    for coefficient in coefficients[2:]:
        y *= x
        y += coefficient
        _round(y)
    return y


def _radius(u: Array) -> Array:
    """sqrt(-2 * log(u)) of float32 numbers in (0, 1]."""
    # u = mantissa * 2**exponent with the mantissa in [sqrt(1/2), sqrt(2)), read off the bits.
    bits = u.view(np.int32) - _SQRT_HALF_BITS
    exponent = (bits >> _MANTISSA_SIZE).astype(np.float32)
    bits &= _MANTISSA
    bits += _SQRT_HALF_BITS
    x = bits.view(np.float32) - _ONE
    square = x * x
    wide = x.astype(np.float64)
    y = _polynomial(wide, _LOG)
    y *= wide
    _round(y)
    y *= square
    y += exponent * _LN2_LOW
    correction = y.astype(np.float32)
    square *= _HALF
    correction -= square
    x += correction
    exponent *= _LN2_HIGH  # exact, so nothing is fused here
    x += exponent
    x *= _MINUS_TWO
    return np.sqrt(x, out=x)


def _sin_and_cos(angle: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 angles in [0, 2 pi]."""
    # The nearest even multiple of pi/4 is taken off in three parts; two of the products are exact.
    octant = (angle * _EIGHTHS).astype(np.int32)
    octant += _1
    octant &= _EVEN
    multiple = octant.astype(np.float32)
    x = multiple * _PI_4_HIGH
    x += angle
    x += multiple * _PI_4_MIDDLE
    wide = multiple * _PI_4_LOW
    wide += x
    _round(wide)
    square = wide * wide
    _round(square)
    y = _polynomial(square, _SIN)
    y *= square
    _round(y)
    y *= wide
    y += wide
    sin = y.astype(np.float32)
    y = _polynomial(square, _COS)
    y *= square
    _round(y)
    y *= square
    square *= _WIDE_HALF
    y -= square
    cos = y.astype(np.float32)
    cos += _ONE
    # On the bits: where the octant's bit 1 is set the two change places; then the signs.
    sin_bits, cos_bits = sin.view(np.int32), cos.view(np.int32)
    exchange = octant << _30
    exchange >>= _31
    exchange &= sin_bits ^ cos_bits
    sin_bits ^= exchange
    cos_bits ^= exchange
    sin_bits ^= (octant & _4) << _29
    octant += _2
    cos_bits ^= (octant & _4) << _29
    return sin, cos


def box_muller32(uniforms: Array) -> Array:
    """float32 normals from float32 uniforms, whose number is a multiple of 16."""
    out = np.empty_like(uniforms)
    source, target = uniforms.reshape(-1, 2, 8), out.reshape(-1, 2, 8)
    for start in range(0, len(source), _GROUPS):
        part, result = source[start : start + _GROUPS], target[start : start + _GROUPS]
        radius = _radius((_ONE - part[:, 0]).reshape(-1))
        sin, cos = _sin_and_cos((_TURN * part[:, 1]).reshape(-1))
        cos *= radius
        sin *= radius
        result[:, 0] = cos.reshape(-1, 8)
        result[:, 1] = sin.reshape(-1, 8)
    return out


def box_muller64(uniforms: Array) -> Array:
    """float64 normals from float64 uniforms, whose number is a multiple of 16."""
    pairs = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * CLibrary.log(1.0 - pairs[:, 0]))
    angle = (2.0 * math.pi) * pairs[:, 1]
    out = np.empty_like(pairs)
    np.multiply(radius, CLibrary.cos(angle), out=out[:, 0])
    np.multiply(radius, CLibrary.sin(angle), out=out[:, 1])
    return out.reshape(-1)
