"""The names of PyTorch's that stand in files, and what they mean here."""

from __future__ import annotations

import importlib
import sys
from collections import Counter, OrderedDict
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from retrograd import dtypes, reduced_dtypes
from retrograd.namespaces.finder import listed
from retrograd.nn.parameter import Parameter
from retrograd.serialization import rebuild
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size, device


class Foreign:
    """A name of PyTorch's that is written into a pickle, whether or not PyTorch is installed."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: object) -> NoReturn:
        raise TypeError(f"{self.module}.{self.name} is a name for pickles only")


class StorageType:
    """What `torch.FloatStorage` and its relatives stand for in a file: the dtype of a storage.

    >>> StorageType("FloatStorage").dtype
    torch.float32
    """

    def __init__(self, name: str) -> None:
        self._dtype = _STORAGE_DTYPES[name]

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def _storage_dtypes() -> dict[str, dtypes.dtype]:
    found = {f"{kind.type_name}Storage": kind for kind in dtypes.ALL}
    rare = {
        **{"QInt8": "qint8", "QUInt8": "quint8", "QInt32": "qint32"},
        **{"QUInt4x2": "quint4x2", "QUInt2x4": "quint2x4"},
    }
    for name, kind in rare.items():
        found[f"{name}Storage"] = reduced_dtypes.PUBLIC_NAMES[kind]
    found["UntypedStorage"] = dtypes.uint8
    return found


_STORAGE_DTYPES = _storage_dtypes()


@cache
def known_names() -> dict[str, object]:
    """What any file may name: tensors and what they consist of, and plain containers."""
    names: dict[str, object] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "builtins.set": set,
        "builtins.complex": complex,
        "builtins.bytearray": bytearray,
        "_codecs.encode": rebuild.encode,
        "torch.Size": Size,
        "torch.device": device,
        "torch.Tensor": Tensor,
        "torch.nn.parameter.Parameter": Parameter,
        "torch._tensor._rebuild_from_type_v2": rebuild.from_type,
        "torch.serialization._get_layout": rebuild.layout_named,
    }
    for name, function in rebuild.FUNCTIONS.items():
        names[f"torch._utils.{name}"] = function
    for kind in (*dtypes.ALL, *dtypes.NEWER):
        names[f"torch.{kind.name}"] = kind
    for name, value in reduced_dtypes.PUBLIC_NAMES.items():
        if isinstance(value, dtypes.dtype):
            names[f"torch.{name}"] = value
    for name in _STORAGE_DTYPES:
        names[f"torch.{name}"] = StorageType(name)
    names["torch.storage.UntypedStorage"] = names["torch.UntypedStorage"]
    for scheme in ("tensor_affine", "tensor_symmetric", "channel_affine", "channel_symmetric"):
        names[f"torch.per_{scheme}"] = Foreign("torch", f"per_{scheme}")
    return names


@cache
def storage_type(name: str) -> StorageType | None:
    """The meaning of a name such as "FloatStorage", or None."""
    return StorageType(name) if name in _STORAGE_DTYPES else None


_MOVED = {"__builtin__": "builtins", "copy_reg": "copyreg", "torch.tensor": "torch._tensor"}


def present_module(module: str) -> str:
    """The name that a module of Python 2, or of an older PyTorch, has today."""
    return _MOVED.get(module, module)


@cache
def _layer_names() -> dict[object, Foreign]:
    """The classes of layers, by where PyTorch defines them."""
    found: dict[object, Foreign] = {}
    for path, module in listed("nn.modules.").items():
        for name in module.rows:
            value = getattr(import_module(path.replace("torch", "retrograd", 1)), name)
            if isinstance(value, type) and value.__module__.startswith("retrograd.nn."):
                at_home = value.__module__.rpartition(".")[2] == path.rpartition(".")[2]
                if value.__qualname__ == name and (at_home or value not in found):
                    found[value] = Foreign(path, name)
    return found


_FUNCTIONS = {"retrograd": "torch", "retrograd.nn.functional": "torch.nn.functional"}


def public_name(value: Any) -> Foreign | None:
    """PyTorch's name of a class of layers or a function that they use; None for all others."""
    if isinstance(value, type):
        ours = value.__module__.startswith("retrograd.nn.")
        return _layer_names().get(value) if ours else None
    place = _FUNCTIONS.get(value.__module__)
    name = value.__qualname__
    if place is None or getattr(sys.modules[value.__module__], name, None) is not value:
        return None
    return Foreign(place, name)


def counterpart(module: str, name: str) -> object:
    """The class or function of this library for one of PyTorch's, for whole pickled objects."""
    if module == "torch._C._nn":  # where PyTorch has some functions of torch.nn.functional
        module = "torch.nn.functional"
    parts = module.split(".")[1:]
    for count in range(len(parts), -1, -1):
        try:
            place: object = importlib.import_module(".".join(["retrograd", *parts[:count]]))
        except ImportError:
            continue
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is not None:
            return place
    raise AttributeError(f"a saved object needs {module}.{name}, which retrograd does not have")
