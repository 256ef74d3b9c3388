"""Switches of PyTorch's compiler: there is none, and functions run as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from retrograd._dynamo import config as config
from retrograd._dynamo.optimized import OptimizedModule as OptimizedModule
from retrograd.compat.marks import refusing
from retrograd.namespaces import missing
from retrograd.notices import notice

_WHY = "there is no compiler; call the model or function itself"

globals().update(refusing("torch._dynamo", _WHY, "explain export replay lookup_backend"))


def is_compiling() -> bool:
    """Whether a function is being compiled: no."""
    return False


def reset() -> None:
    """Forget what was compiled: nothing was."""


def graph_break(msg: str = "") -> None:
    """Leave the compiled graph here: there is none."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The compilers that can be chosen: none."""
    return []


def disable(
    fn: Any = None, recursive: bool = True, *, reason: Any = None, wrapping: bool = True
) -> Any:
    """The function itself, which is never compiled; also a decorator.

    >>> import retrograd as torch
    >>> torch._dynamo.disable(abs) is abs
    True
    """
    return _itself if fn is None else fn


def optimize(*args: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that leaves the function as it is."""
    notice("torch._dynamo.optimize", "there is no compiler; the function runs as it is written")
    return _itself


def run(fn: Any = None) -> Any:
    """The function itself."""
    return _itself if fn is None else fn


def _itself(found: Any) -> Any:
    return found


allow_in_graph = disallow_in_graph = forbid_in_graph = assume_constant_result = _itself
nonstrict_trace = dont_skip_tracing = _itself
optimize_assert = optimize


def _nothing(t: Any, *args: Any, **options: Any) -> None:
    """Say how a tensor's sizes are to be compiled: nothing is compiled."""


mark_dynamic = mark_static = mark_static_address = maybe_mark_dynamic = _nothing


@contextmanager
def set_stance(*args: Any, **options: Any) -> Iterator[None]:
    """The context in which compiled functions are used in another way: there are none."""
    yield


@contextmanager
def error_on_graph_break(error_on_graph_break: bool) -> Iterator[None]:
    """The context in which leaving a graph is an error: there is no graph."""
    yield


def __getattr__(name: str) -> Any:
    if name == "eval_frame":  # it imports from here
        return import_module("retrograd._dynamo.eval_frame")
    raise missing(__name__, name, globals())
