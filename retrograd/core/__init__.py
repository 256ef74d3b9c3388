"""The compiled core: calls of ops, the walk over the graph, optimizer steps; built where possible.

An accelerator in the manner of Python's own (`heapq` and `_heapq`): the Python code is the
definition. The C functions do the same for the common case, and call the Python functions for
everything unusual, so results, errors and call sites do not depend on them. `core.h` says how the
sources are laid out, `install` gives them the library's objects.

Without the compiled module, or with ``RETROGRAD_CORE=0`` in the environment, Python does all of it.

>>> status().startswith("The compiled core is")
True
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from retrograd.backend.kernels.built import check_sources

AVAILABLE: bool
"""Whether the compiled core is in use."""

_core: Any
_status: str

try:
    if os.environ.get("RETROGRAD_CORE") == "0":
        raise ImportError("switched off by RETROGRAD_CORE=0")
    from retrograd.core import _core

    check_sources(_core)
except (ImportError, RuntimeError) as error:  # RuntimeError: built for a newer NumPy than this one
    _core = None
    AVAILABLE = False
    _status = f"The compiled core is not in use ({error}); Python does the same, more slowly."
else:
    AVAILABLE = True
    _status = "The compiled core is in use."


_Function = TypeVar("_Function", bound=Callable[..., object])


def shortcut(name: str, *given: object) -> Callable[[_Function], _Function]:
    """Gives a function the compiled way of that name for the common call, where there is one.

    given  what the compiled way reads beside the arguments
    """

    def decorate(function: _Function) -> _Function:
        if _core is None:
            return function
        shortened: _Function = getattr(_core, name)(function, *given)
        return shortened

    return decorate


def put_aside() -> Callable[[], None]:
    """Let Python do everything, where somebody watches it; returns what takes that back."""
    if _core is None:
        return lambda: None
    was_on = _core.switch(False)
    return lambda: _core.switch(was_on)


def compiled(name: str) -> Any:
    """The function of that name in the compiled module; None without it."""
    return None if _core is None else getattr(_core, name)


def caller(function: object, op: object, *, operator: bool = False, writer: str = "") -> Any:
    """What stands in the place of an op's function: a compiled caller of it, or the function.

    writer  of a function that works in place: its name, which a written tensor remembers
    """
    if _core is None:
        return function
    return _core.Caller(function, op, operator, *((writer,) if writer else ()))


def at(function: Any, key: str, module: str, name: str) -> Any:
    """A public function where users find it: a call of it that fails is explained by its signature.

    key  the place under which the signature is known; see `ops.calling.refusals`
    """
    if _core is None or not isinstance(function, FunctionType):
        return function
    if hasattr(function, "__unsupported__"):  # whatever it is called with
        return function
    if type(function) in (_core.Caller, _core.Shortcut):
        compiled: Any = function
        return compiled.at((key, module, name))
    return _core.at(function, (key, module, name))


def python_function(function: object) -> Any:
    """The Python function behind a caller or shortcut; any other function as it is."""
    return getattr(function, "python", function)


def call_python(flag: bool) -> None:
    """Whether all callers call their Python functions: somebody has changed these."""
    if _core is not None:
        _core.call_python(flag)


def called(function: object) -> Any:
    """The public function that was just called, of those with this Python function; or None."""
    found = None if _core is None else _core.called()
    return found if python_function(found) is function else None


def use_parameter(kind: type) -> None:
    """Let the callers know the class of parameters, when there is one."""
    if _core is not None:
        _core.use_parameter(kind)


def status() -> str:
    """A sentence that says whether the compiled core is in use and, if not, why."""
    return _status


__all__ = [
    "AVAILABLE",
    "at",
    "call_python",
    "called",
    "caller",
    "compiled",
    "python_function",
    "shortcut",
    "status",
    "use_parameter",
]
