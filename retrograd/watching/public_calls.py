"""What `TorchFunctionMode` is for PyTorch, for a program that runs on retrograd.

Every public function and every method of Tensor is replaced by one that tells what it was given and
what it gave. Calls inside of another one are not told: they are the library's own matter.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

Told = Callable[[object, Any, Any, object], object]
"""Called as (function, arguments, keywords, result); what it returns is handed on."""

_NAMESPACES = ("retrograd", "retrograd.nn.functional", "retrograd.linalg", "retrograd.special")
_METHODS = frozenset(
    """
    __abs__ __add__ __and__ __array__ __bool__ __complex__ __div__ __eq__ __float__ __floordiv__
    __ge__ __getitem__ __gt__ __iadd__ __idiv__ __ifloordiv__ __imul__ __index__ __int__ __invert__
    __ipow__ __isub__ __itruediv__ __le__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __pow__
    __radd__ __rdiv__ __rfloordiv__ __rmatmul__ __rmul__ __rpow__ __rsub__ __rtruediv__
    __setitem__ __sub__ __truediv__
    """.split()
)
_PROPERTIES = ("data", "T", "mT", "H", "mH", "real", "imag")
_NOT_CALLS = frozenset(["no_grad", "is_tensor", "typename", "compile", "save", "load"])


class PublicCalls:
    """A context in which public calls are told."""

    def __init__(self, told: Told, switched_off: Callable[[Any], None]) -> None:
        self._told = told
        self._switched_off = switched_off  # called with a tensor whose requires_grad becomes False
        self._depth = 0
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> PublicCalls:
        tensor: object = importlib.import_module("retrograd").Tensor
        for name, value in list(vars(tensor).items()):
            public = name in _METHODS or not name.startswith("_")
            if isinstance(value, types.FunctionType) and public:
                self._replace(tensor, name, self._around(value))
        for name in _PROPERTIES:
            self._replace_property(tensor, name)
        self._watch_flag(tensor)
        for module_name in _NAMESPACES:
            module = importlib.import_module(module_name)
            for name, value in list(vars(module).items()):
                if name.startswith("_") or name in _NOT_CALLS or name.startswith(("is_", "set_")):
                    continue
                if isinstance(value, types.FunctionType):
                    self._replace(module, name, self._around(value))
        return self

    def __exit__(self, *exception: object) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: object, name: str, value: object) -> None:
        before = vars(owner)[name]
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def _around(self, function: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(function)
        def call(*args: object, **keywords: object) -> object:
            if self._depth:
                return function(*args, **keywords)
            self._depth += 1
            try:
                result = function(*args, **keywords)
                return self._told(function, args, keywords, result)
            finally:
                self._depth -= 1

        return call

    def _replace_property(self, tensor: object, name: str) -> None:
        original = vars(tensor)[name]

        def get(self: object) -> object:
            return original.fget(self)

        get.__name__ = f".{name}"
        changed = property(self._around(get), original.fset, original.fdel)
        self._replace(tensor, name, changed)

    def _watch_flag(self, tensor: object) -> None:
        original = vars(tensor)["requires_grad"]

        def set_flag(target: object, value: object) -> None:
            if value is False and not self._depth:
                self._switched_off(target)
            original.fset(target, value)

        self._replace(tensor, "requires_grad", property(original.fget, set_flag))
