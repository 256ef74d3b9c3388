"""Typed storages: `FloatStorage` and its relatives, the memory of tensors as PyTorch once had it.

>>> import retrograd as torch
>>> torch.FloatStorage([1, 2]).tolist()
[1.0, 2.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.marks import unsupported_class
from retrograd.namespaces import from_table
from retrograd.ops.making.construction import array_from
from retrograd.ops.making.memory import TypedStorage as TypedStorage
from retrograd.ops.making.memory import UntypedStorage as UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


class _StorageClass(type):
    """The type of `FloatStorage` and its relatives: makes storages of one dtype, and knows them."""

    dtype: dtypes.dtype

    def __call__(cls, *args: object) -> TypedStorage:
        first = args[0] if args else 0
        if len(args) > 1 or not isinstance(first, (int, Sequence)):
            raise TypeError(
                f"{cls.__name__} expects a size or a sequence of numbers, not "
                + ", ".join(type(value).__name__ for value in args)
            )
        if isinstance(first, int):
            return TypedStorage(np.empty(first, cls.dtype.numpy))
        return TypedStorage(array_from(first, cls.dtype))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _typed(kind: dtypes.dtype) -> _StorageClass:
    doc = f"Storages of {kind!r}: made from a size or numbers, and recognised by `isinstance`."
    facts = {"dtype": kind, "__module__": "torch", "__doc__": doc}
    return _StorageClass(f"{kind.type_name}Storage", (), facts)


TYPED_STORAGES: dict[str, Any] = {f"{kind.type_name}Storage": _typed(kind) for kind in dtypes.ALL}
TYPED_STORAGES |= {
    f"{name}Storage": unsupported_class(
        f"torch.{name}Storage", "there are no quantized tensors; compute in float32"
    )
    for name in ("QInt8", "QInt32", "QUInt8", "QUInt4x2", "QUInt2x4")
}


def storage_class(kind: dtypes.dtype) -> Any:
    """The class of the storages of a dtype."""
    return TYPED_STORAGES[f"{kind.type_name}Storage"]


from_table(__name__)
