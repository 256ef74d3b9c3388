"""Functions from source text that are written and compiled when they are first called.

Generating and compiling every op would be most of the time that importing the library takes. So
each function starts as a call of `first_call`, which makes the text, compiles it, and gives the
function, where it is, its own code: nothing that already holds the function needs to know.
"""

from __future__ import annotations

import linecache
import threading
import types
from collections.abc import Callable
from typing import Any

from retrograd import core
from retrograd.engine.state import HOT
from retrograd.lifecycle import site
from retrograd.tensor import Tensor

_SOURCES: dict[Any, tuple[Callable[[], list[str]], str]] = {}
_compiling = threading.RLock()
# called with each function that has got its own code
AFTER_COMPILING: list[Callable[[Any], None]] = []


def build(name: str, lines: Callable[[], list[str]], label: str) -> Any:
    """A function called `name` whose source `lines()` gives; it runs in the namespace `HOT`."""
    filename = f"<retrograd {label}>"
    site.mark_library_file(filename)
    function = types.FunctionType(_WAITING, HOT, name)
    function.__kwdefaults__ = {"_function": function}
    function.__module__ = "retrograd"
    function.__qualname__ = name
    _SOURCES[function] = (lines, filename)
    return function


def source_of(function: Callable[..., object]) -> str:
    """The source text of a built function."""
    function = core.python_function(function)
    force(function)
    return "".join(linecache.getlines(function.__code__.co_filename))


def force(function: Callable[..., object]) -> None:
    """Compile a function that still waits for its first call."""
    with _compiling:
        waiting = _SOURCES.pop(function, None)
        if waiting is None:
            return
        lines, filename = waiting
        text = "\n".join(lines()) + "\n"
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        scope: dict[str, Any] = {}
        exec(compile(text, filename, "exec"), HOT, scope)
        made = scope[function.__name__]
        # another thread may call at any point: the code goes last, and both find their defaults
        function.__defaults__ = made.__defaults__
        function.__kwdefaults__ = {**(made.__kwdefaults__ or {}), "_function": function}
        function.__code__ = made.__code__
        for follow in AFTER_COMPILING:
            follow(function)


def first_call(function: Callable[..., Tensor], args: Any, options: Any) -> Any:
    """Compile a waiting function, then call it."""
    force(function)
    return function(*args, **options)


def _waiting_code() -> types.CodeType:
    filename = "<retrograd first call>"
    site.mark_library_file(filename)
    text = "def waiting(*args, _function, **options): return first_call(_function, args, options)"
    scope: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), HOT, scope)
    code: types.CodeType = scope["waiting"].__code__
    return code


HOT["first_call"] = first_call
_WAITING = _waiting_code()
