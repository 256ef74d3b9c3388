"""Pickles in PyTorch's form: tensors name the storage they lie in, storages are kept beside."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import FunctionType
from typing import IO, Any, ClassVar

import numpy as np

from retrograd import dtypes
from retrograd.backend import CPU, backend_of, xp_of
from retrograd.engine.hooks import warn_if_has_hooks
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.nn.parameter import Parameter, is_lazy
from retrograd.notices import explained
from retrograd.ops.making.memory import (
    TypedStorage,
    UntypedStorage,
    address_of,
    owner_of,
    strides_of,
)
from retrograd.reduced_dtypes import UnavailableDtype
from retrograd.serialization.locations import location_tag
from retrograd.serialization.names import Foreign, public_name
from retrograd.sparse.pickling import parts
from retrograd.tensor import Array, Tensor
from retrograd.tensor.size import Size, device, device_of, layout, memory_format

_REBUILD_TENSOR = Foreign("torch._utils", "_rebuild_tensor_v2")
_REBUILD_META = Foreign("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_RETYPED = Foreign("torch._utils", "_rebuild_tensor_v3")
_REBUILD_PARAMETER = Foreign("torch._utils", "_rebuild_parameter")
_REBUILD_PARAMETER_WITH_STATE = Foreign("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_FROM_TYPE = Foreign("torch._tensor", "_rebuild_from_type_v2")
_REBUILD_SPARSE = Foreign("torch._utils", "_rebuild_sparse_tensor")
_GET_LAYOUT = Foreign("torch.serialization", "_get_layout")
_TENSOR = Foreign("torch", "Tensor")
_SIZE = Foreign("torch", "Size")
_DEVICE = Foreign("torch", "device")
_BYTES = Foreign("torch.storage", "UntypedStorage")
_STORAGES = {kind: Foreign("torch", f"{kind.type_name}Storage") for kind in dtypes.ALL}
_NAMED: dict[str, Foreign] = {}


class _Storage:
    """A flat array that tensors of the pickle point into, and its name in the file."""

    __slots__ = ("array", "key", "where")

    def __init__(self, array: Array, key: str, where: str) -> None:
        self.array = array  # on the CPU
        self.key = key
        self.where = where


class _Parts:
    """The function and the arguments by which a plain tensor is rebuilt."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: Foreign, arguments: tuple[object, ...]) -> None:
        self.function = function
        self.arguments = arguments


_PythonPickler: Any = pickle._Pickler


class Pickler(_PythonPickler):  # type: ignore[misc]
    """A pickler that puts the storages of tensors aside and writes PyTorch's names.

    Python's own pickler, not the C one: only it lets names be written that cannot be imported.
    """

    dispatch: ClassVar[dict[type, object]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: IO[bytes], protocol: int, legacy: bool = False) -> None:
        super().__init__(file, protocol)
        self.storages: list[_Storage] = []
        self._legacy = legacy
        self._by_owner: dict[int, tuple[_Storage, Array]] = {}

    def reducer_override(self, obj: object) -> object:
        """Tensors and their relatives, in PyTorch's form."""
        if isinstance(obj, Tensor):
            return self._reduce_tensor(obj) if _has_our_reduction(obj) else NotImplemented
        if isinstance(obj, _Parts):
            return obj.function, obj.arguments
        if type(obj) is Size:
            return _SIZE, (tuple(obj),)
        if type(obj) is layout:
            return _GET_LAYOUT, (repr(obj),)
        if type(obj) is device:
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def persistent_id(
        self, obj: object
    ) -> tuple[str, Foreign, str, str, int, None] | tuple[str, Foreign, str, str, int] | None:
        """Storages are named in the pickle and stored beside it."""
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            where = location_tag(obj)
            flat = obj._owner.reshape(-1, order="A")
            if isinstance(obj, UntypedStorage):
                flat = flat.view(np.uint8)
            stored = self._stored(obj._owner, flat)
        elif isinstance(obj, _Storage):
            where, stored = obj.where, obj
        else:
            return None
        kind = dtypes.from_numpy_dtype(stored.array.dtype)
        bytes_only = kind in dtypes.NEWER or isinstance(obj, UntypedStorage)
        if bytes_only:  # newer types have no class of storages
            found = ("storage", _BYTES, stored.key, where, stored.array.nbytes)
        else:
            found = ("storage", _STORAGES[kind], stored.key, where, stored.array.size)
        return (*found, None) if self._legacy else found

    def save_foreign(self, obj: Foreign) -> None:
        """A global name."""
        self.write(f"c{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_named(self, obj: Any) -> None:
        """A dtype or a memory format, under PyTorch's name."""
        self.save(_NAMED.setdefault(obj.name, Foreign("torch", obj.name)))

    def save_global(self, obj: object, name: str | None = None) -> None:
        """A class or function; layers under the names that PyTorch has for them."""
        foreign = public_name(obj) if isinstance(obj, (type, FunctionType)) else None
        if foreign is None:
            super().save_global(obj, name)
        else:
            self.save_foreign(foreign)
            self.memo.setdefault(id(obj), self.memo[id(foreign)])

    dispatch[FunctionType] = save_global
    dispatch[Foreign] = save_foreign
    dispatch[dtypes.dtype] = save_named
    dispatch[UnavailableDtype] = save_named
    dispatch[memory_format] = save_named

    # ---------------------------------------------------------------------------------- tensors

    def _reduce_tensor(self, tensor: Tensor) -> tuple[object, ...]:
        warn_if_has_hooks(tensor)
        if is_lazy(tensor):  # it has no storage; PyTorch's pickles do not keep its dtype either
            kind = Foreign("torch.nn.parameter", type(tensor).__name__)
            return kind, (tensor.requires_grad,)
        if type(tensor._array) is SPARSE_ARRAY:
            return self._reduce_sparse(tensor)
        is_parameter = Parameter in type(tensor).__mro__
        parts = self._parts(tensor, tensor.requires_grad and not is_parameter)
        state = _state_of(tensor)
        if is_parameter:  # of a subclass too: PyTorch's files do not keep which
            arguments: tuple[object, ...] = (parts, tensor.requires_grad, OrderedDict())
            if state:
                return _REBUILD_PARAMETER_WITH_STATE, (*arguments, state)
            return _REBUILD_PARAMETER, arguments
        if type(tensor) is Tensor and not state:
            return parts.function, parts.arguments
        own = _TENSOR if type(tensor) is Tensor else type(tensor)
        return _REBUILD_FROM_TYPE, (parts.function, own, parts.arguments, state)

    def _parts(self, tensor: Tensor, requires_grad: bool) -> _Parts:
        if tensor.is_meta:
            lies = tuple(tensor._array.shape), strides_of(tensor._array)
            return _Parts(_REBUILD_META, (tensor.dtype, *lies, requires_grad))
        storage, offset, strides = self._place(tensor)
        shape = tuple(tensor._array.shape)
        hooks: OrderedDict[object, object] = OrderedDict()
        arguments = (storage, offset, shape, strides, requires_grad, hooks)
        if tensor.dtype in dtypes.NEWER:
            return _Parts(_REBUILD_RETYPED, (*arguments, tensor.dtype))
        return _Parts(_REBUILD_TENSOR, arguments)

    def _reduce_sparse(self, tensor: Tensor) -> tuple[object, ...]:
        if type(tensor) is not Tensor or tensor.__dict__:
            raise explained(
                NotImplementedError(
                    f"retrograd does not support save() of a sparse {type(tensor).__name__} with "
                    "a class or attributes of its own"
                ),
                code="RG901",
            )
        return _REBUILD_SPARSE, (tensor.layout, parts(tensor))

    def _place(self, tensor: Tensor) -> tuple[_Storage, int, tuple[int, ...]]:
        """The storage that a tensor lies in, its offset there, and its strides."""
        array = tensor._array
        owner = owner_of(array if tensor._view is None else tensor._view.base._array)
        xp = xp_of(array)
        if type(owner) is not type(array) or not xp.shares_memory(owner, array):
            owner = owner_of(array)  # it got other memory by `.data`
        flat = owner.reshape(-1, order="A")
        own = (
            xp.shares_memory(flat, owner)
            and flat.nbytes % array.itemsize == 0
            and (address_of(array) - address_of(flat)) % array.itemsize == 0
            and (tensor._view is not None or owner.nbytes <= array.nbytes)
            and not any(step < 0 for step in array.strides)
        )
        if array.size and not own:
            # not a storage of its own: take only its elements along, without gaps
            axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
            flat = xp.copy_in_rows(array.transpose(axes)).reshape(-1)
            order = np.argsort(axes).tolist()
            array = flat.reshape([array.shape[axis] for axis in axes]).transpose(order)
            owner = flat
        elif not array.size:
            owner = flat = xp.empty(0, array.dtype)
        if flat.dtype is not array.dtype:
            flat = flat.view(array.dtype)
        stored = self._stored(owner, flat)
        offset = (address_of(array) - address_of(flat)) // array.itemsize if array.size else 0
        return stored, offset, strides_of(array)

    def _stored(self, owner: Array, flat: Array) -> _Storage:
        backend = backend_of(owner)
        key = id(owner) if backend is CPU else address_of(owner)
        found = self._by_owner.get(key)
        if found is None:
            where = str(device_of(owner))
            storage = _Storage(backend.to_numpy(flat), str(len(self.storages)), where)
            self.storages.append(storage)
            self._by_owner[key] = (storage, owner)  # owner kept: its id stays taken
            return storage
        if found[0].array.dtype != flat.dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        return found[0]


def _has_our_reduction(tensor: Tensor) -> bool:
    """Whether its class leaves the form of its pickles to us."""
    for kind in type(tensor).__mro__:
        if "__reduce_ex__" in vars(kind) or "__reduce__" in vars(kind):
            return kind is Tensor or kind.__module__.partition(".")[0] == "retrograd"
    return True


def _state_of(tensor: Tensor) -> Any:
    """The attributes of a tensor: a dict, or a pair of it and the slots of its own class."""
    own: object = getattr(type(tensor), "__getstate__", None)
    if own is not object.__getstate__ and own is not getattr(Tensor, "__getstate__", None):
        return tensor.__getstate__()
    slots = {
        name: getattr(tensor, name)
        for kind in type(tensor).__mro__[: type(tensor).__mro__.index(Tensor)]
        for name in vars(kind).get("__slots__", ())
        if not name.startswith("__") and hasattr(tensor, name)
    }
    attributes = dict(tensor.__dict__)
    return (attributes, slots) if slots else attributes
