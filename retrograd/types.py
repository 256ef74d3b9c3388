"""Names for annotations: what may stand for a device, a number, a file."""

import os
from collections.abc import Sequence
from typing import IO

from retrograd.dtypes import dtype as _dtype
from retrograd.namespaces import from_table
from retrograd.ops.making.memory import UntypedStorage as Storage
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device, Size
from retrograd.tensor.size import device as _device
from retrograd.tensor.size import layout as _layout

__all__ = ["Device", "FileLike", "Number", "Storage", "_device", "_dtype", "_layout"]

_bool, _int, _float, _complex = bool, int, float, complex
_size = Size | list[int] | tuple[int, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors = Tensor | Sequence[Tensor | None]
_Number = int, float, bool
# PyTorch's also have symbolic sizes, which there are none of here
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool

Number = int | float | bool
FileLike = str | os.PathLike[str] | IO[bytes]

from_table(__name__)
