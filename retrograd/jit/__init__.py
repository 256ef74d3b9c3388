"""TorchScript, as seen from a program that runs in Python: models and functions stay as they are.

>>> import retrograd as torch
>>> @torch.jit.ignore
... def double(x):
...     return x * 2
>>> torch.jit.is_scripting(), double(4)
(False, 8)
"""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union
from typing import Final as Final

from retrograd.futures import Future as Future
from retrograd.marks import differs
from retrograd.namespaces import from_table
from retrograd.nn.module import Module
from retrograd.notices import notice

if TYPE_CHECKING:
    from retrograd.namespaces.more.jit import *  # noqa: F403

__all__ = [
    *("Attribute", "CompilationUnit", "Error", "Final", "Future", "ScriptFunction"),
    *("ScriptModule", "TracerWarning", "annotate", "enable_onednn_fusion", "export"),
    *("export_opnames", "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing"),
    *("isinstance", "load", "onednn_fusion_enabled", "optimize_for_inference"),
    *("optimized_execution", "save", "script", "script_if_tracing", "script_method"),
    *("set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait"),
]

_SAME = "there is no TorchScript; models and functions run as they are written"
_T = TypeVar("_T")
_fusion: dict[str, Any] = {"onednn": False, "strategy": [("STATIC", 2), ("DYNAMIC", 10)]}


class Error(RuntimeError):
    """A script failed."""


class TracerWarning(Warning):
    """Tracing met something that it cannot keep."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Silence the warnings of tracing in the library: there are none."""


class Attribute(NamedTuple):
    """A value with its type, for an attribute of a script module."""

    value: object
    type: Any


class ScriptModule(Module):
    """A module as any other; `script` and `trace` return the module they are given instead."""


def is_scripting() -> bool:
    """Whether a script is being compiled or run: no."""
    return False


def is_tracing() -> bool:
    """Whether a function is being traced: no."""
    return False


@differs("returns the model or function itself")
def script(obj: _T, *args: object, **options: object) -> _T:
    """The model, function or class itself."""
    notice("torch.jit.script", _SAME)
    return obj


@differs("returns the model or function itself, which is not called")
def trace(func: _T, example_inputs: object = None, *args: object, **options: object) -> _T:
    """The model or function itself; the example inputs are not used."""
    notice("torch.jit.trace", _SAME)
    return func


@differs("returns the model itself, which is not called")
def trace_module(mod: _T, inputs: object, *args: object, **options: object) -> _T:
    """The model itself; the example inputs are not used."""
    notice("torch.jit.trace_module", _SAME)
    return mod


@differs("returns the model itself")
def freeze(mod: _T, *args: object, **options: object) -> _T:
    """The model itself."""
    return mod


@differs("returns the model itself")
def optimize_for_inference(mod: _T, *args: object, **options: object) -> _T:
    """The model itself."""
    return mod


def script_if_tracing(fn: _T) -> _T:
    """The function itself: nothing is ever traced."""
    return fn


def script_method(fn: _T) -> _T:
    """The method itself."""
    return fn


def export(fn: _T) -> _T:
    """The method itself, which a script would contain."""
    return fn


def interface(obj: _T) -> _T:
    """The class itself, which would describe modules to a script."""
    return obj


def ignore(drop: object = False, **options: object) -> Any:
    """The function itself, which a script would leave to Python; also with arguments."""
    return drop if callable(drop) else _itself


def unused(fn: _T) -> _T:
    """The function itself, which a script would leave out."""
    return fn


def _itself(found: _T) -> _T:
    return found


_overload = _overload_method = _itself


def annotate(the_type: object, the_value: _T) -> _T:
    """The value, which a script would give this type."""
    return the_value


def isinstance(obj: object, target_type: Any) -> bool:
    """Whether a value has a type, which may be of ``typing``: the elements are looked at.

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, inner = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type is Any:
        return True
    if origin is None:
        return builtins.isinstance(obj, type(None) if target_type is None else target_type)
    if origin in (Union, types.UnionType):
        return any(isinstance(obj, each) for each in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in obj.items())
    if origin is tuple and inner[-1:] != (...,):
        return len(obj) == len(inner) and all(map(isinstance, obj, inner))
    return all(isinstance(each, inner[0]) for each in obj)


def _unwrap_optional(x: _T | None) -> _T:
    if x is None:
        raise AssertionError("Unwrapping null optional")
    return x


def fork(func: Callable[..., object], *args: Any, **kwargs: object) -> Future[Any]:
    """Call the function now, and return its result as a future."""
    found: Future[object] = Future()
    found.set_result(func(*args, **kwargs))
    return found


def wait(future: Future[_T]) -> _T:
    """The result of a future of `fork`."""
    return future.wait()


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """The context in which scripts are optimized or not: there are none."""
    yield


class strict_fusion:
    """The context in which a script must be fused: there is none."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


def enable_onednn_fusion(enabled: bool) -> None:
    """Note whether scripts may use oneDNN."""
    _fusion["onednn"] = enabled


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was last told."""
    return bool(_fusion["onednn"])


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Note how scripts are to be fused; returns what was noted before."""
    old: list[tuple[str, int]] = _fusion["strategy"]
    _fusion["strategy"] = strategy
    return old


del annotations  # the name of a module inside, and not the import from __future__ above
from_table(__name__)
