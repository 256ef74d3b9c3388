"""Tensors in files that other programs read: `.safetensors` and NumPy's `.npz`.

Both hold names and plain tensors and nothing that could be run. The `.safetensors` format needs the
package of that name: ``pip install "retrograd[safetensors]"``.

>>> import os, tempfile, retrograd as torch
>>> from retrograd.interchange import load_npz, save_npz
>>> path = os.path.join(tempfile.mkdtemp(), "weights.npz")
>>> save_npz({"weight": torch.ones(2)}, path)
>>> load_npz(path)
{'weight': tensor([1., 1.])}
"""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.notices import explained
from retrograd.serialization.archive import Archive
from retrograd.serialization.archive_writer import ArchiveWriter
from retrograd.serialization.atomic import replacing
from retrograd.serialization.rebuild import swapped
from retrograd.tensor import Array, Tensor, wrap
from retrograd.tensor.size import CPU, backend_at

# The names of data types in the file, and those that the package takes.
_SAFETENSORS: dict[str, dtypes.dtype] = {
    **{"F64": dtypes.float64, "F32": dtypes.float32, "F16": dtypes.float16},
    **{"BF16": dtypes.bfloat16, "C64": dtypes.complex64, "BOOL": dtypes.bool_},
    **{"I64": dtypes.int64, "I32": dtypes.int32, "I16": dtypes.int16, "I8": dtypes.int8},
    **{"U64": dtypes.uint64, "U32": dtypes.uint32, "U16": dtypes.uint16, "U8": dtypes.uint8},
}


def _package() -> Any:
    try:
        import safetensors
    except ImportError as error:
        raise ImportError(
            "the safetensors package is not installed: pip install safetensors"
        ) from error
    return safetensors


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    """The elements of tensors, each in memory without gaps."""
    found: dict[str, Array] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a tensor must be text, not {type(name).__name__}")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name!r} must be a tensor, not {type(tensor).__name__}")
        if type(tensor._array) is SPARSE_ARRAY:
            raise ValueError(f"{name!r} is a sparse tensor: make it dense by to_dense() first")
        array = backend_of(tensor._array).to_numpy(tensor._array)
        found[name] = np.ascontiguousarray(array).reshape(array.shape)
    return found


# ---------------------------------------------------------------------------------- safetensors


def save_safetensors(
    tensors: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
) -> None:
    """Write named tensors to a `.safetensors` file, which is there as a whole or not at all.

    Tensors that share memory are written one by one.

    >>> import os, tempfile, retrograd as torch
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> save_safetensors({"weight": torch.zeros(2)}, path)
    >>> load_safetensors(path)
    {'weight': tensor([0., 0.])}
    """
    package = _package()
    arrays = _arrays(tensors)
    described: dict[str, object] = {}
    for name, array in arrays.items():
        kind = dtypes.from_numpy_dtype(array.dtype)
        if kind not in _SAFETENSORS.values():
            raise explained(
                NotImplementedError(f"{name!r} is of {kind!r}, which .safetensors does not know"),
                code="RG304",
            )
        if sys.byteorder == "big":
            array = arrays[name] = swapped(array.reshape(-1))
        described[name] = _described(package, kind.name, tensors[name]._array.shape, array)
    content = package.serialize(described, metadata)
    with replacing(os.fspath(path)) as file:
        file.write(content)


def _described(package: object, kind: str, shape: tuple[int, ...], array: Array) -> Any:
    """A tensor as the package takes it: by its address, or by its bytes in older versions."""
    if hasattr(package, "TensorSpec"):
        return package.TensorSpec(
            dtype=kind, shape=list(shape), data_ptr=array.ctypes.data, data_len=array.nbytes
        )
    return {"dtype": kind, "shape": list(shape), "data": array.tobytes()}


def load_safetensors(path: str | os.PathLike[str], device: object = None) -> dict[str, Tensor]:
    """The named tensors of a `.safetensors` file."""
    package = _package()
    place = backend_at(CPU if device is None else device)
    with open(path, "rb") as file:
        content = file.read()
    found: dict[str, Tensor] = {}
    for name, facts in package.deserialize(content):
        kind = _SAFETENSORS.get(facts["dtype"])
        if kind is None:
            raise explained(
                NotImplementedError(
                    f"{name!r} in {os.fspath(path)} is of type {facts['dtype']}, which retrograd "
                    "does not support"
                ),
                code="RG304",
            )
        array = np.frombuffer(bytearray(facts["data"]), kind.numpy)
        if sys.byteorder == "big":
            array = swapped(array)
        found[name] = wrap(place.from_numpy(array.reshape(facts["shape"])))
    return dict(sorted(found.items()))


# ------------------------------------------------------------------------------------------ npz


def save_npz(tensors: Mapping[str, Tensor], path: str | os.PathLike[str]) -> None:
    """Write named tensors to an `.npz` file, which `numpy.load` reads.

    NumPy has no bfloat16; convert such tensors before, for example by `float()`.
    """
    arrays = _arrays(tensors)
    for name, array in arrays.items():
        if array.dtype is dtypes.BF16:
            raise ValueError(
                f"{name!r} is of torch.bfloat16, which NumPy's files do not know: use .float()"
            )
        if not name or "\0" in name:
            raise ValueError(f"{name!r} cannot be a name in an .npz file")
    with replacing(os.fspath(path)) as file:
        archive = ArchiveWriter(file, "")
        for name, array in arrays.items():
            archive.add(f"{name}.npy", _npy_bytes(array))
        archive.close()


def _npy_bytes(array: Array) -> bytes:
    """An array in the form of an `.npy` file."""
    from numpy.lib import format as npy

    stream = io.BytesIO()
    npy.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def load_npz(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The tensors of an `.npz` file by name. Arrays of Python objects are refused.

    So is a compressed file that would become more than sixteen times as large.
    """
    found: dict[str, Tensor] = {}
    with open(path, "rb") as file:
        archive = Archive(file, in_folder=False)
        for member in archive:
            if not member.endswith(".npy"):
                raise ValueError(f"{os.fspath(path)} holds {member!r}, which is not an array")
            found[member.removesuffix(".npy")] = wrap(_npy_array(member, archive.read(member)))
    return found


def _npy_array(name: str, content: bytes) -> Array:
    """An array from the form of an `.npy` file, whose header is compared with its length."""
    from numpy.lib import format as npy

    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"{name} is an array in version {version} of NumPy's format")
    shape, fortran, numpy_type = readers[version](stream)
    if numpy_type.hasobject:
        raise ValueError(f"{name} holds Python objects, which are not loaded")
    kind = dtypes.from_numpy_dtype(numpy_type.newbyteorder("="))
    elements = memoryview(content)[stream.tell() :]
    if any(length < 0 for length in shape) or math.prod(shape) * numpy_type.itemsize != len(
        elements
    ):
        raise ValueError(f"{name} is of shape {shape} and has {len(elements)} bytes of elements")
    array = np.frombuffer(elements, numpy_type).reshape(shape, order="F" if fortran else "C")
    return np.array(array, kind.numpy)
