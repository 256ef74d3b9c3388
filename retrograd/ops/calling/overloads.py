"""``torch.ops.aten``: PyTorch's names for ops, as objects.

>>> import retrograd as torch
>>> torch.ops.aten.mm
<OpOverloadPacket(op='aten.mm')>
>>> torch.ops.aten.mm.default
<OpOverload(op='aten.mm', overload='default')>
>>> print(torch.ops.aten.add.Tensor, torch.ops.aten.add.Tensor.name())
aten.add.Tensor aten::add.Tensor
>>> torch.ops.aten.mm.default(torch.eye(2), torch.ones(2, 2))
tensor([[1., 1.],
        [1., 1.]])

Every op of PyTorch has its objects, also those that no call here ever is: policies of selective
checkpointing name them. Calling one of those raises an error that says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from retrograd.notices import explained
from retrograd.ops.calling.aten_calls import CALLS, OTHER_ORDER
from retrograd.ops.calling.aten_names import event_name, overload_table
from retrograd.ops.registry import OPS, PUBLIC
from retrograd.tensor import Tensor


class OpOverload:
    """One form of an op: ``torch.ops.aten.add.Tensor``. There is one object of each.

    >>> torch.ops.aten.add.Tensor is torch.ops.aten.add.Tensor
    True
    """

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self._packet = packet
        self._overloadname = overload
        self._opname = packet.__name__
        self.namespace = packet._namespace
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__module__ = packet.__module__
        self.__qualname__ = self._name = self.name()

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The op that it is a form of."""
        return self._packet

    def name(self) -> str:
        """Its name in PyTorch's registry of ops: ``aten::add.Tensor``, ``aten::mm``."""
        name = self._packet._qualified_op_name
        return name if self._overloadname == "default" else f"{name}.{self._overloadname}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _function_of(self._packet, self._overloadname)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self._packet}.{self._overloadname}"

    def __deepcopy__(self, memo: object) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return overload_named, (str(self),)


class OpOverloadPacket:
    """An op with all its forms: ``torch.ops.aten.add``.

    >>> torch.ops.aten.relu.overloads()
    ['default', 'out']
    """

    def __init__(self, namespace: str, name: str, overloads: tuple[str, ...]) -> None:
        self._namespace = namespace
        self._qualified_op_name = self.__qualname__ = f"{namespace}::{name}"
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"
        self._overloads = overloads

    def overloads(self) -> list[str]:
        """The names of its forms."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__") or name == "_overloads":
            raise AttributeError(f"'{self}' has no attribute '{name}'")
        if name not in self._overloads:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        made = OpOverload(self, name)
        return self.__dict__.setdefault(name, made)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(self._overloads)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _function_of(self, self._overloads[0])(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __deepcopy__(self, memo: object) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return _packet_named, (self._namespace, self.__name__)


class _OpNamespace:
    """The ops of one namespace, as attributes."""

    def __init__(self, name: str, table: dict[str, tuple[str, ...]]) -> None:
        self.name = self.__name__ = name
        self._table = table

    def __getattr__(self, name: str) -> OpOverloadPacket:
        overloads = None if name.startswith("__") else self.__dict__["_table"].get(name)
        if overloads is None:
            raise AttributeError(
                f"'_OpNamespace' '{self.__dict__['name']}' object has no attribute '{name}'"
            )
        made = OpOverloadPacket(self.name, name, overloads)
        return self.__dict__.setdefault(name, made)  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        return sorted(self._table)

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


def _own_ops() -> dict[str, tuple[str, ...]]:
    """Ops that PyTorch has no counterpart of."""
    names = [event_name(op).partition("::") for op in OPS.values()]
    own: dict[str, tuple[str, ...]] = {
        name: ("default",) for space, _, name in names if space == "retrograd"
    }
    writers = [op.inplace_name.removeprefix("_") for op in OPS.values() if op.inplace_name]
    return own | {name: ("default",) for name in writers if name not in overload_table()}


@cache
def namespace(name: str) -> _OpNamespace:
    """``torch.ops.aten``, ``torch.ops.prim``, or ``torch.ops.retrograd`` for ops of our own."""
    if name == "aten":
        return _OpNamespace(name, overload_table())
    if name == "prim":
        return _OpNamespace(name, {"device": ("default",)})
    if name == "retrograd":
        return _OpNamespace(name, _own_ops())
    return _OpNamespace(name, {})


# What computes the operators that programs register.
_REGISTERED: dict[tuple[str, str, str], Any] = {}


def declare(
    space: str, name: str, overload: str, function: Callable[..., object]
) -> OpOverloadPacket:
    """Add an operator of a program: from now on it is ``torch.ops.<space>.<name>``."""
    place = namespace(space)
    place.__dict__.pop(name, None)
    place._table[name] = (*(o for o in place._table.get(name, ()) if o != overload), overload)
    _REGISTERED[space, name, overload] = function
    packet: OpOverloadPacket = getattr(place, name)
    return packet


def is_declared(space: str) -> bool:
    """Whether a program registered operators in this namespace."""
    return any(space == declared for declared, _, _ in _REGISTERED)


@cache
def overload_named(text: str) -> OpOverload:
    """The object of a name such as ``aten.add.Tensor``."""
    space, name, overload = text.split(".")
    found: OpOverload = getattr(_packet_named(space, name), overload)
    return found


def _packet_named(space: str, name: str) -> OpOverloadPacket:
    packet: OpOverloadPacket = getattr(namespace(space), name)
    return packet


# --------------------------------------------------------------------------------------- calls

_PREFIXES = ("linalg", "fft", "special")


def _function_of(packet: OpOverloadPacket, overload: str) -> Any:
    """What computes an op from arguments in PyTorch's order."""
    name = packet.__name__
    if packet._namespace == "aten":
        if name in CALLS:
            return CALLS[name]
        found = None if name in OTHER_ORDER else _public_function(name)
        if found is not None:
            return found
    elif (packet._namespace, name, overload) in _REGISTERED:
        return _REGISTERED[packet._namespace, name, overload]
    raise explained(
        NotImplementedError(f"retrograd does not support calling torch.ops.{packet}"), code="RG901"
    )


def _public_function(name: str) -> Any:
    for prefix in _PREFIXES:
        if name.startswith(f"{prefix}_"):
            module = importlib.import_module(f"retrograd.{prefix}")
            return getattr(module, name.removeprefix(f"{prefix}_"), None)
    if name in PUBLIC["torch"]:
        return PUBLIC["torch"][name]
    method = None if name.startswith("_") else getattr(Tensor, name, None)
    if callable(method):
        return method
    return PUBLIC["nn.functional"].get(name)
