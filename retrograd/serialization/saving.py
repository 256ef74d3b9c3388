"""`save`: an object into a file."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
from collections.abc import Iterator
from typing import IO, Any

from retrograd.notices import explained
from retrograd.serialization.archive_writer import ArchiveWriter
from retrograd.serialization.atomic import replacing
from retrograd.serialization.legacy import write_legacy
from retrograd.serialization.options import OPTIONS, SHARED
from retrograd.serialization.pickler import Pickler


def save(
    obj: object,
    f: Any,
    pickle_module: object = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file (a path or a binary file), tensors as PyTorch stores them.

    A path is written as a whole or not at all: until the last byte is on the disk, its name belongs
    to the file that was there before.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.])}
    """
    if pickle_module is not None and getattr(pickle_module, "__name__", None) != "pickle":
        name = getattr(pickle_module, "__name__", repr(pickle_module))
        raise explained(
            NotImplementedError(f"retrograd does not support save() with pickle_module={name}"),
            code="RG901",
        )
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if not is_path and not callable(f.write):
        raise TypeError(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")
    legacy = not _use_new_zipfile_serialization
    if legacy and OPTIONS.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    stream = io.BytesIO()
    pickler = Pickler(stream, pickle_protocol, legacy)
    pickler.dump(obj)
    with _opened(f, is_path) as file:
        if legacy:
            write_legacy(file, stream.getvalue(), pickler.storages, pickle_protocol)
        else:
            folder = _folder_for(f) if is_path else "archive"
            _write(file, folder, stream.getvalue(), pickler.storages, _disable_byteorder_record)


@contextlib.contextmanager
def _opened(f: Any, is_path: bool) -> Iterator[IO[bytes]]:
    if is_path:
        with replacing(os.fsdecode(f)) as file:
            yield file
    else:
        yield f
        if hasattr(f, "flush"):
            f.flush()


def _folder_for(path: str | os.PathLike[str]) -> str:
    name = os.path.splitext(os.path.basename(os.fsdecode(path)))[0]
    return name.encode("utf-8", "replace").decode().replace("/", "_") or "archive"


def _write(
    file: IO[bytes], folder: str, pickled: bytes, storages: Any, without_order: bool
) -> None:
    archive = ArchiveWriter(file, folder, SHARED.sums)
    archive.add("data.pkl", pickled)
    if not without_order:
        archive.add("byteorder", sys.byteorder.encode())
    for storage in storages:
        name = f"data/{storage.key}"
        if OPTIONS.skip_data:
            archive.add_empty_space(name, storage.array.nbytes)
        else:
            archive.add(name, storage.array.view("u1"))
    archive.add("version", b"3\n")
    archive.close()
