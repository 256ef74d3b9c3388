"""Data types of PyTorch that can be named and compared here, but that no tensor can have.

>>> import retrograd as torch
>>> torch.float8_e4m3fn.itemsize
1
>>> torch.zeros(2, dtype=torch.float8_e4m3fn)
Traceback (most recent call last):
NotImplementedError: torch.float8_e4m3fn is not supported by retrograd: there is no arithmetic ...
"""

from __future__ import annotations

from typing import Any, NoReturn

from retrograd.dtypes import FLOAT, INTEGER, dtype

_TINY = "there is no arithmetic in less than 16 bits; use bfloat16 or float16"
_QUANTIZED = "there are no quantized tensors; compute in float32"
_PACKED = "there are no integers of less than 8 bits; use int8 or uint8"


class UnavailableDtype(dtype):
    """A data type without tensors: it says so as soon as one is to be made."""

    def __init__(self, name: str, category: int, itemsize: int, why: str) -> None:
        self.name = name
        self.type_name = name
        self.category = category
        self.itemsize = itemsize
        self.is_floating_point = category == FLOAT
        self.is_complex = False
        self.is_signed = not name.startswith(("uint", "quint", "bits"))
        self.abbreviation = name
        self.__unsupported__ = why

    @property
    def numpy(self) -> NoReturn:
        """What every tensor of this type would need."""
        raise NotImplementedError(
            f"torch.{self.name} is not supported by retrograd: {self.__unsupported__}"
        )


def _make() -> dict[str, Any]:
    found: dict[str, Any] = {}
    floats = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    for name in (*floats, "float8_e8m0fnu", "float4_e2m1fn_x2"):
        found[name] = UnavailableDtype(name, FLOAT, 1, _TINY)
    for name, size in {"qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1}.items():
        found[name] = UnavailableDtype(name, INTEGER, size, _QUANTIZED)
    for bits in range(1, 8):
        for name in (f"int{bits}", f"uint{bits}"):
            found[name] = UnavailableDtype(name, INTEGER, 1, _PACKED)
    for name in ("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"):
        found[name] = UnavailableDtype(name, INTEGER, 2 if name == "bits16" else 1, _PACKED)
    return found


PUBLIC_NAMES = _make()
"""What the package publishes from here."""
