"""Names for annotations: what may stand for a device, a number, a file."""

import os
from typing import IO

from retrograd.namespaces import from_table
from retrograd.ops.making.memory import UntypedStorage as Storage
from retrograd.tensor.size import Device

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number = int | float | bool
FileLike = str | os.PathLike[str] | IO[bytes]

from_table(__name__)
