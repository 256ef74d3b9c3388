"""Names for annotations: what may stand for a device, a number, a file."""

import os
from typing import IO, Any

from retrograd.namespaces import missing
from retrograd.tensors.memory import UntypedStorage as Storage
from retrograd.tensors.size import device as _device

__all__ = ["Device", "FileLike", "Number", "Storage"]

Device = _device | str | int | None
Number = int | float | bool
FileLike = str | os.PathLike[str] | IO[bytes]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
