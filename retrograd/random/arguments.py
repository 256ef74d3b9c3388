"""PyTorch's names for dtypes, and the argument checks that several samplers share."""

from __future__ import annotations

import numpy as np

from retrograd.dtypes import C32
from retrograd.notices import explained
from retrograd.random.arithmetic import BFLOAT16

__all__ = ["COMPLEX", "FLOATS", "LARGEST", "SIGNIFICAND", "not_implemented", "number", "spelled"]

_float16, _float32, _float64 = (np.dtype(name) for name in ("float16", "float32", "float64"))

FLOATS = frozenset((_float16, BFLOAT16, _float32, _float64))
COMPLEX = {C32: _float16, np.dtype(np.complex64): _float32, np.dtype(np.complex128): _float64}
"""The complex types, each with the type of its parts."""

SIGNIFICAND = {_float16: 11, BFLOAT16: 8, _float32: 24, _float64: 53}
"""Bits in the significand: all whole numbers up to 2**bits are exact."""

_EXPONENT = {_float16: 15, BFLOAT16: 127, _float32: 127, _float64: 1023}
LARGEST = {
    dtype: (2 - 2.0 ** (1 - bits)) * 2.0 ** _EXPONENT[dtype] for dtype, bits in SIGNIFICAND.items()
}
"""The largest finite number of every floating type."""

# dtype: (PyTorch's name, the name of its C++ type as the messages spell it)
_NAMES = {
    "bool": ("Bool", "bool"),
    "uint8": ("Byte", "unsigned char"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"),
    "int32": ("Int", "int"),
    "int64": ("Long", "long int"),
    "uint16": ("UInt16", "short unsigned int"),
    "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex32": ("ComplexHalf", "c10::complex<c10::Half>"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
}


def spelled(dtype: np.dtype, cpp: bool = False) -> str:
    """The dtype as PyTorch's messages name it.

    >>> spelled(np.dtype("int64")), spelled(np.dtype("int64"), cpp=True)
    ('Long', 'long int')
    """
    return _NAMES[dtype.name][cpp] if dtype.name in _NAMES else dtype.name


def number(value: float) -> str:
    """A number as C++ prints it: six significant digits.

    >>> number(-1.0), number(1e308)
    ('-1', '1e+308')
    """
    return f"{value:g}"


def not_implemented(kernel: str, dtype: np.dtype) -> Exception:
    """The error for a dtype that a sampler does not know."""
    return explained(
        NotImplementedError(f"\"{kernel}\" not implemented for '{spelled(dtype)}'"), code="RG304"
    )
