"""PyTorch's compiler, as seen from a program that runs as it is written: it changes nothing.

>>> import retrograd as torch
>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd._dynamo import allow_in_graph as allow_in_graph
from retrograd._dynamo import assume_constant_result as assume_constant_result
from retrograd._dynamo import list_backends as list_backends
from retrograd._dynamo import set_stance as set_stance
from retrograd.compat.marks import refusing
from retrograd.compiler import config as config
from retrograd.namespaces import missing
from retrograd.settings import compile as compile

_WHY = "there is no compiler; call the model or function itself"
_chosen = ["inductor"]

globals().update(
    refusing(
        "torch.compiler",
        _WHY,
        """
        keep_portable_guards_unsafe keep_tensor_guards_unsafe load_cache_artifacts
        load_compiled_function skip_all_guards_unsafe skip_guard_on_all_nn_modules_unsafe
        skip_guard_on_globals_unsafe skip_guard_on_inbuilt_nn_modules_unsafe wrap_numpy
        """,
    )
)


def is_compiling() -> bool:
    """Whether a function is being compiled: no."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether a function is being compiled: no."""
    return False


def is_exporting() -> bool:
    """Whether a model is being exported: no."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: Any = None) -> Any:
    """The function itself, which is never compiled; also a decorator."""
    return _itself if fn is None else fn


def reset() -> None:
    """Forget what was compiled: nothing was."""


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins: without a compiler nobody asks."""


def get_default_backend() -> str:
    """What `set_default_backend` was last told."""
    return _chosen[0]


def set_default_backend(backend: str) -> None:
    """Note which compiler to use."""
    _chosen[0] = backend


def save_cache_artifacts() -> None:
    """What was compiled, for another process: nothing was, so None."""
    return None


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Note a setting; returns False, as it was."""
    return False


def nested_compile_region(fn: Any = None, *args: Any, **options: Any) -> Any:
    """The function itself; also a decorator."""
    return _itself if fn is None else fn


def substitute_in_graph(original_fn: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator: the function it decorates would stand for another in a graph; there is none."""
    return _itself


def _itself(found: Any) -> Any:
    return found


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
