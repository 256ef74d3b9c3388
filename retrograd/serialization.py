"""`save` and `load`, in PyTorch's file format: each library reads what the other has written.

A file is a zip archive. Its member ``data.pkl`` is a pickle in which every tensor names the storage
it lies in, its offset, size and strides; the storages are members of their own, as raw bytes.
Tensors that share memory share it again after loading.

>>> import io, retrograd as torch
>>> file = io.BytesIO()
>>> torch.save({"weight": torch.ones(2)}, file)
>>> torch.load(io.BytesIO(file.getvalue()))
{'weight': tensor([1., 1.])}
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, ClassVar

import numpy as np

from retrograd import dtypes
from retrograd.construction import as_class
from retrograd.memory import address_of, owner_of, region, strides_of
from retrograd.notices import explained
from retrograd.size import Size, device, require_cpu
from retrograd.tensor import Array, Tensor, wrap


class _Foreign:
    """A name of PyTorch's that is written into a pickle, whether or not PyTorch is installed."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is a name for pickles only")


_REBUILD_TENSOR = _Foreign("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Foreign("torch._utils", "_rebuild_parameter")
_REBUILD_FROM_TYPE = _Foreign("torch._tensor", "_rebuild_from_type_v2")
_TENSOR = _Foreign("torch", "Tensor")
_SIZE = _Foreign("torch", "Size")
_DEVICE = _Foreign("torch", "device")
_DTYPES = {kind: _Foreign("torch", kind.name) for kind in dtypes.ALL}
_STORAGES = {kind: _Foreign("torch", f"{kind.type_name}Storage") for kind in dtypes.ALL}

# --------------------------------------------------------------------------------------- saving


class _Storage:
    """A flat array that tensors of the pickle point into, and its name in the archive."""

    __slots__ = ("array", "key")

    def __init__(self, array: Array, key: str) -> None:
        self.array = array
        self.key = key


class _Parts:
    """The arguments from which a plain tensor is rebuilt."""

    __slots__ = ("arguments",)

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self.arguments = arguments


_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):  # type: ignore[misc]
    """A pickler that puts the storages of tensors aside and writes PyTorch's names.

    Python's own pickler, not the C one: only it lets names be written that cannot be imported.
    """

    dispatch: ClassVar[dict[Any, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: list[_Storage] = []
        self._by_owner: dict[int, tuple[_Storage, Array]] = {}

    def reducer_override(self, obj: Any) -> Any:
        """Tensors and their relatives, in PyTorch's form."""
        if isinstance(obj, Tensor):
            return self._reduce_tensor(obj)
        if isinstance(obj, _Parts):
            return _REBUILD_TENSOR, obj.arguments
        if type(obj) is Size:
            return _SIZE, (tuple(obj),)
        if type(obj) is device:
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def persistent_id(self, obj: Any) -> Any:
        """Storages are named in the pickle and stored beside it."""
        if not isinstance(obj, _Storage):
            return None
        kind = dtypes.from_numpy_dtype(obj.array.dtype)
        return ("storage", _STORAGES[kind], obj.key, "cpu", obj.array.size)

    def save_foreign(self, obj: _Foreign) -> None:
        """A global name."""
        self.write(f"c{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj: dtypes.dtype) -> None:
        """A dtype, under PyTorch's name."""
        self.save(_DTYPES[obj])

    dispatch[_Foreign] = save_foreign
    dispatch[dtypes.dtype] = save_dtype

    def _reduce_tensor(self, tensor: Tensor) -> Any:
        from retrograd.nn.parameter import Parameter

        storage, offset, strides = self._place(tensor)
        is_parameter = type(tensor) is Parameter
        requires_grad = tensor.requires_grad and not is_parameter
        arguments: tuple[Any, ...] = (
            *(storage, offset, tuple(tensor._array.shape), strides),
            *(requires_grad, OrderedDict()),
        )
        if is_parameter:
            return _REBUILD_PARAMETER, (_Parts(arguments), tensor.requires_grad, OrderedDict())
        if type(tensor) is Tensor and not tensor.__dict__:
            return _REBUILD_TENSOR, arguments
        kind = _TENSOR if type(tensor) is Tensor else type(tensor)
        return _REBUILD_FROM_TYPE, (_REBUILD_TENSOR, kind, arguments, dict(tensor.__dict__))

    def _place(self, tensor: Tensor) -> tuple[_Storage, int, tuple[int, ...]]:
        """The storage that a tensor lies in, its offset there, and its strides."""
        array = tensor._array
        owner = owner_of(array if tensor._view is None else tensor._view.base._array)
        flat = owner.reshape(-1, order="A")
        shared = flat.dtype is array.dtype and np.may_share_memory(flat, owner)
        if not shared or (tensor._view is None and owner.nbytes > array.nbytes):
            # not a storage of its own: take only its elements along, without gaps
            axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
            flat = np.array(array.transpose(axes), order="C").reshape(-1)
            array = flat.reshape([array.shape[axis] for axis in axes]).transpose(np.argsort(axes))
            owner = flat
        found = self._by_owner.get(id(owner))
        if found is None:
            storage = _Storage(flat, str(len(self.storages)))
            self.storages.append(storage)
            found = self._by_owner[id(owner)] = (storage, owner)  # owner kept: its id stays taken
        offset = (address_of(array) - address_of(flat)) // array.itemsize if array.size else 0
        return found[0], offset, strides_of(array)


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file (a path or a binary file), tensors as PyTorch stores them."""
    if not _use_new_zipfile_serialization:
        raise explained(
            NotImplementedError("retrograd does not support save() in the format before 1.6")
        )
    stream = io.BytesIO()
    pickler = _Pickler(stream, pickle_protocol)
    pickler.dump(obj)
    name = "archive"
    if isinstance(f, (str, os.PathLike)):
        folder, base = os.path.split(os.fspath(f))
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        name = os.path.splitext(base)[0] or name
        with open(f, "wb") as file:
            _write(file, name, stream.getvalue(), pickler.storages)
    elif hasattr(f, "write"):
        _write(f, name, stream.getvalue(), pickler.storages)
    else:
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )


def _write(file: IO[bytes], name: str, pickled: bytes, storages: Sequence[_Storage]) -> None:
    import zipfile  # slow to import, so only when it is used

    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(f"{name}/data.pkl", pickled)
        archive.writestr(f"{name}/byteorder", sys.byteorder)
        for storage in storages:
            archive.writestr(f"{name}/data/{storage.key}", storage.array.tobytes())
        archive.writestr(f"{name}/version", "3\n")


# -------------------------------------------------------------------------------------- loading


def _rebuild_tensor(
    storage: Array,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    made = wrap(region(storage, size, offset, stride))
    made._requires_grad = bool(requires_grad)
    return made


def _rebuild_retyped(
    storage: Array,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    hooks: Any,
    dtype: dtypes.dtype,
    metadata: Any = None,
) -> Tensor:
    return _rebuild_tensor(storage.view(dtype.numpy), offset, size, stride, requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any, state: Any = None) -> Tensor:
    from retrograd.nn.parameter import Parameter

    made = Parameter(data, requires_grad)
    if state:
        made.__dict__.update(state)
    return made


def _rebuild_from_type(
    function: Callable[..., Tensor], kind: type[Tensor], arguments: tuple[Any, ...], state: Any
) -> Tensor:
    made = as_class(function(*arguments), kind)
    if isinstance(state, dict):
        made.__dict__.update(state)
    return made


class _StorageType:
    """What PyTorch's `FloatStorage` and its relatives stand for: the dtype of a storage."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


def _known_names() -> dict[tuple[str, str], Any]:
    """What a pickle may name when only weights are loaded."""
    names: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "Counter"): Counter,
        ("builtins", "set"): set,
        ("builtins", "complex"): complex,
        ("builtins", "bytearray"): bytearray,
        ("torch", "Size"): Size,
        ("torch", "device"): device,
        ("torch", "Tensor"): Tensor,
        ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch._utils", "_rebuild_tensor_v3"): _rebuild_retyped,
        ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
        ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
        ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
        ("torch.storage", "UntypedStorage"): _StorageType(dtypes.U8),
    }
    for kind in dtypes.ALL:
        names["torch", kind.name] = kind
        names["torch", f"{kind.type_name}Storage"] = _StorageType(kind.numpy)
    return names


_KNOWN = _known_names()
_PYTHON2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_safe: list[Any] = []


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, file: IO[bytes], read: Callable[[str], bytes], weights_only: bool, moved: bool
    ) -> None:
        super().__init__(file)
        self._read = read
        self._weights_only = weights_only
        self._moved = moved  # map_location says where CUDA tensors go
        self._storages: dict[str, Array] = {}

    def find_class(self, module: str, name: str) -> Any:
        """A name of the pickle: one of ours for PyTorch's; with `weights_only` a known one."""
        module = _PYTHON2.get(module, module)
        known = _KNOWN.get((module, name))
        if known is not None:
            return known
        for allowed in _safe:
            if (allowed.__module__, allowed.__qualname__) == (module, name):
                return allowed
        if self._weights_only:
            raise pickle.UnpicklingError(_refusal(f"{module}.{name}"))
        if module.partition(".")[0] == "torch":
            return _counterpart(module, name)
        return super().find_class(module, name)

    def persistent_load(self, saved: Any) -> Array:
        """A storage, by the name it has in the archive."""
        kind, storage_type, key, location, _ = saved
        if kind != "storage" or not isinstance(storage_type, _StorageType):
            raise pickle.UnpicklingError(f"unknown entry in a saved file: {saved[0]!r}")
        if not location.startswith("cpu") and not self._moved:
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() "
                "is False. If you are running on a CPU-only machine, please use torch.load with "
                "map_location=torch.device('cpu') to map your storages to the CPU."
            )
        if key not in self._storages:
            self._storages[key] = np.frombuffer(bytearray(self._read(key)), storage_type.dtype)
        return self._storages[key]


def _counterpart(module: str, name: str) -> Any:
    """The class or function of this library for one of PyTorch's, for whole pickled objects."""
    import importlib

    parts = module.split(".")[1:]
    for count in range(len(parts), -1, -1):
        try:
            place = importlib.import_module(".".join(["retrograd", *parts[:count]]))
        except ImportError:
            continue
        found = getattr(place, name, None)
        if found is not None:
            return found
    raise AttributeError(f"a saved object needs {module}.{name}, which retrograd does not have")


def _refusal(name: str) -> str:
    return (
        "Weights only load failed. This file can still be loaded, to do so you have two options, "
        "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n"
        "\t(1) Call `load` with weights_only=False: a pickle can then run any code.\n"
        f"\t(2) Allow what this file needs: torch.serialization.add_safe_globals([{name}]).\n"
        f"\tUnsupported global: GLOBAL {name} was not an allowed global by default."
    )


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` (or PyTorch's) wrote to a file, tensors onto the CPU.

    By default only tensors and plain containers are accepted, because a pickle can run any code;
    ``weights_only=False`` reads everything.
    """
    import zipfile

    if isinstance(map_location, (str, device)):
        require_cpu(map_location)
    if weights_only is None:
        weights_only = pickle_module is None
    with contextlib.ExitStack() as stack:
        if isinstance(f, (str, os.PathLike)):
            f = stack.enter_context(open(f, "rb"))
        elif not hasattr(f, "seek"):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load "
                "from a file that is seekable. Please pre-load the data into a buffer like "
                "io.BytesIO and try to load from it instead."
            )
        start = f.tell()
        if not f.read(1):
            raise EOFError("Ran out of input")
        f.seek(start)
        if not zipfile.is_zipfile(f):
            raise pickle.UnpicklingError(
                "this is no zip archive: retrograd reads its own files and those of PyTorch 1.6 "
                "and later"
            )
        archive = stack.enter_context(zipfile.ZipFile(f))
        place = next((n for n in archive.namelist() if n.endswith("/data.pkl")), None)
        if place is None:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        folder = place.removesuffix("data.pkl")
        order = f"{folder}byteorder"
        if order in archive.namelist() and archive.read(order).decode() != sys.byteorder:
            raise explained(
                NotImplementedError("retrograd does not support files of another byte order")
            )
        pickled = io.BytesIO(archive.read(place))
        moved = map_location is not None
        unpickler = _Unpickler(
            pickled, lambda key: archive.read(f"{folder}data/{key}"), weights_only, moved
        )
        return unpickler.load()


# --------------------------------------------------------------------------------- safe globals


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` with ``weights_only=True`` accept these classes and functions."""
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` allowed."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` allowed."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow classes and functions for the `load` calls inside."""
    before = list(_safe)
    _safe.extend(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before
