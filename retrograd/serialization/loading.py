"""`load`: an object from a file."""

from __future__ import annotations

import contextlib
import io
import mmap as mapping
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import IO, Any, NoReturn

import numpy as np

from retrograd.above import above
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained
from retrograd.ops.making.memory import TypedStorage, UntypedStorage
from retrograd.serialization.archive import LOCAL, Archive
from retrograd.serialization.legacy import read_legacy
from retrograd.serialization.locations import Restore, restorer
from retrograd.serialization.names import StorageType
from retrograd.serialization.options import OPTIONS, SHARED, LoadEndianness
from retrograd.serialization.rebuild import swapped
from retrograd.serialization.restricted import Source
from retrograd.serialization.trusted import Read, restricting, trusting
from retrograd.tensor import Array, Tensor

_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the "
    "file from a trusted source."
)
_TRUE = ("1", "y", "yes", "true")


def load(
    f: Any,
    map_location: object = None,
    pickle_module: object = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: object,
) -> Any:
    """Read what `save` (or PyTorch's) wrote to a file, tensors onto the CPU.

    By default only tensors and plain containers are accepted, because a pickle can run any code;
    ``weights_only=False`` reads everything. With ``mmap=True`` the storages stay in the file until
    their numbers are used.

    >>> import io, retrograd as torch
    >>> file = io.BytesIO()
    >>> torch.save([torch.zeros(2), "text"], file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    [tensor([0., 0.]), 'text']
    """
    safe = _is_safe(weights_only, pickle_module)
    if safe and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and safe:
        warnings.warn(
            "pickle_load_args only works if `weights_only=False`.", stacklevel=user_level()
        )
    pickle_load_args.setdefault("encoding", "utf-8")
    if isinstance(f, (str, os.PathLike)) and os.fsdecode(f).endswith(".safetensors"):
        return _load_safetensors(os.fsdecode(f), map_location)
    restore = restorer(map_location)
    if safe:
        read = restricting(pickle_load_args)
    else:
        read = trusting(pickle if pickle_module is None else pickle_module, pickle_load_args)
    with _opened(f) as file:
        try:
            if not _is_zip(file):
                if mmap:
                    _refuse_mapping(f)
                return read_legacy(file, read, restore, safe)
            archive = Archive(file)
            if "constants.pkl" in archive:
                _refuse_script(safe)
            if mmap and not isinstance(f, (str, os.PathLike)):
                raise ValueError("f must be a file path in order to use the mmap argument")
            mapped = _mapped(os.fsdecode(f)) if mmap else None
            return _read_archive(archive, read, restore, mapped)
        except pickle.UnpicklingError as error:
            if not safe:
                raise
            raise pickle.UnpicklingError(_failed(str(error))) from None


def _is_safe(weights_only: bool | None, pickle_module: object) -> bool:
    forced = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    freed = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if forced and freed:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if forced:
        return True
    if freed and weights_only is None:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            stacklevel=user_level(),
        )
        return False
    return pickle_module is None if weights_only is None else bool(weights_only)


# ---------------------------------------------------------------------------------- the archive


def _read_archive(
    archive: Archive, read: Read, restore: Restore, mapped: mapping.mmap | None
) -> Any:
    storages = _Storages(archive, restore, mapped)
    return read(Source(io.BytesIO(archive.read("data.pkl"))), storages.persistent_load)


class _OtherOrder(TypedStorage):
    """Bytes of a machine with another byte order, before it is known what they mean."""

    other_order = True


class _Storages:
    """The storages of an archive, each read once."""

    def __init__(self, archive: Archive, restore: Restore, mapped: mapping.mmap | None) -> None:
        self._archive = archive
        self._restore = restore
        self._mapped = mapped
        self._swap = _order_of(archive) != sys.byteorder
        self._found: dict[str, Array] = {}

    def persistent_load(self, saved: object) -> TypedStorage:
        """A storage, by the name it has in the archive."""
        if not isinstance(saved, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")
        if len(saved) != 5 or _text(saved[0]) != "storage":
            raise pickle.UnpicklingError("a saved object is named in an unknown way")
        _, kind, key, location, count = saved
        key, location = _text(key), _text(location)
        if (
            not isinstance(kind, StorageType)
            or type(key) is not str
            or type(location) is not str
            or type(count) is not int
            or count < 0
        ):
            raise pickle.UnpicklingError("a storage is described in an unknown way")
        found = self._found.get(key)
        numpy_type = kind.dtype.numpy
        if found is None:
            made = self._read(key, count, numpy_type)
            if self._swap:
                made = swapped(made)
            owner = self._restore(UntypedStorage(made), location)._owner
            found = self._found[key] = owner.reshape(-1, order="A")
        if found.dtype is not numpy_type:
            found = found.view(numpy_type)
        if self._swap and numpy_type == np.uint8:
            return _OtherOrder(found)
        return TypedStorage(found)

    def _read(self, key: str, count: int, numpy_type: Any) -> Array:
        name = f"data/{key}"
        size = self._archive.size_of(name)
        if size != count * numpy_type.itemsize:
            raise RuntimeError(
                f"record size ({size} bytes) does not match expected size "
                f"({count * numpy_type.itemsize} bytes = {count} elements * {numpy_type.itemsize} "
                f"bytes/element) of storage {key}"
            )
        if OPTIONS.skip_data:
            return np.zeros(count, numpy_type)
        if self._mapped is not None and count:
            offset = self._archive.offset_of(name)
            if offset is not None and offset % numpy_type.itemsize == 0:
                return np.frombuffer(self._mapped, numpy_type, count, offset)
        made = np.empty(count, numpy_type)
        self._archive.read_into(name, made.view(np.uint8))
        return made


def _text(value: str) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _order_of(archive: Archive) -> str:
    if "byteorder" in archive:
        short = archive.size_of("byteorder") < 100
        found = archive.read("byteorder").decode("ascii", "replace") if short else "too long"
        if found not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {found}")
        return found
    assumed = SHARED.endianness
    if assumed is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if assumed is LoadEndianness.BIG else "little"


# --------------------------------------------------------------------------------------- files


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[IO[bytes]]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if not any(word in str(error) for word in ("seek", "tell")):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
            "data into a buffer like io.BytesIO and try to load from it instead."
        ) from None
    yield f


def _is_zip(file: IO[bytes]) -> bool:
    start = file.tell()
    found = file.read(len(LOCAL))
    file.seek(start)
    return bool(found == LOCAL)


def _mapped(path: str) -> mapping.mmap:
    shared = SHARED.mapping == getattr(mapping, "MAP_SHARED", None)
    with open(path, "r+b" if shared else "rb") as file:
        access = mapping.ACCESS_WRITE if shared else mapping.ACCESS_COPY
        return mapping.mmap(file.fileno(), 0, access=access)


def _refuse_mapping(f: object) -> NoReturn:
    name = f"{f}, " if isinstance(f, str) else ""
    raise RuntimeError(
        "mmap can only be used with files saved with "
        f"`torch.save({name}_use_new_zipfile_serialization=True), please torch.save your "
        "checkpoint with this option in order to use mmap."
    )


def _refuse_script(safe: bool) -> NoReturn:
    if safe:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
            + _UNSAFE
        )
    raise explained(
        NotImplementedError("retrograd does not support TorchScript archives"), code="RG901"
    )


@above
def load_safetensors(path: str, device: object) -> dict[str, Tensor]:
    """The named tensors of a `.safetensors` file."""
    raise NotImplementedError


def _load_safetensors(path: str, map_location: object) -> dict[str, Tensor]:
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device "
            "string or torch.device instead."
        )
    try:
        return load_safetensors(path, map_location)
    except ImportError as error:
        raise RuntimeError(
            "Attempting to load a safetensors file but safetensors is not installed. Please "
            "install safetensors with: pip install safetensors"
        ) from error


# -------------------------------------------------------------------------------------- messages

_MORE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


def _failed(message: str) -> str:
    """What to do about a file that is not loaded because only weights are."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two "
            "options, \033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` please "
            "check the recommended steps in the following error message.\n\tWeightsUnpickler "
            f"error: {message}{_MORE}"
        )
    return f"Weights only load failed. {_UNSAFE}\n\n{message}{_MORE}"


def unsafe_names(f: object, names: Callable[[Any], set[str]]) -> list[str]:
    """The names in a file's pickle that `names` finds."""
    with _opened(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Archive(file)
        if "constants.pkl" in archive:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript "
                "checkpoint"
            )
        return sorted(names(archive.read("data.pkl")))
