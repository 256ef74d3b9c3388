"""What a value holds, also where an ordinary look does not go: hooks, closures, saved values.

A `Part` of a special kind has a phrase as its text, in which `{0}` stands for the path so far:
"hook on {0}". Without `{0}` the path so far is only what it is reached through.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import types
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.watching.heap import has_node, is_leaf
from retrograd.watching.holders import MOST_ITEMS, Part, is_own, plain_parts
from retrograd.watching.reading import Reader

_LRU = type(functools.lru_cache(lambda: None))
_MODULE_HOOKS = (
    *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
    *("_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks"),
)


class Contents:
    """Called with a value: its parts. What lies behind a graph is told once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._told: set[object] = set()  # nodes; alive as long as the search

    def __call__(self, value: object) -> Iterable[Part]:
        if isinstance(value, self._reader.tensor):
            return self._of_tensor(value)
        if isinstance(value, types.FunctionType):
            return _of_function(value) if is_own(value.__module__) else ()
        if isinstance(value, (types.GeneratorType, types.CoroutineType)):
            frame = value.gi_frame if isinstance(value, types.GeneratorType) else value.cr_frame
            return () if frame is None else of_frame(frame, "generator")
        if isinstance(value, functools.partial):
            named = [Part(f".keywords[{k!r}]", item) for k, item in value.keywords.items()]
            numbered = [Part(f".args[{i}]", item) for i, item in enumerate(value.args)]
            return [*numbered, *named, Part(".func", value.func)]
        if isinstance(value, BaseException):
            return _of_exception(value)
        if isinstance(value, types.TracebackType):
            return _of_traceback(value)
        if isinstance(value, _LRU):
            kept = [thing for thing in gc.get_referents(value) if not callable(thing)]
            inside: Any = value
            own = plain_parts(inside.__wrapped__)
            return [Part("cache of {0}", thing, kind="cache") for thing in kept] + own
        if isinstance(value, dict):
            return self._of_dict(value)
        return self._of_object(value)

    def _of_dict(self, value: dict[Any, object]) -> list[Part]:
        parts = []
        for key, item in list(value.items())[:MOST_ITEMS]:
            if isinstance(key, self._reader.tensor):
                shape = tuple(getattr(key, "shape", ()))
                parts.append(Part(f"[<{type(key).__name__} {shape}>]", item, key=key))
                parts.append(Part("a key of {0}", key, kind="key"))
            else:
                parts.append(Part(f"[{_key(key)}]", item))
        return parts

    def _of_object(self, value: object) -> Iterable[Part]:
        attributes = getattr(value, "__dict__", None)
        if not isinstance(attributes, dict) or "_forward_hooks" not in attributes:
            return [*plain_parts(value), *_of_slots(value)]
        hooked = [Part("", hook) for name in _MODULE_HOOKS for hook in _hooks(attributes.get(name))]
        rest = [part for part in plain_parts(value) if part.text[1:] not in _MODULE_HOOKS]
        return [*rest, *(part for hook in hooked for part in of_hook(hook.value))]

    def _of_tensor(self, tensor: Any) -> Iterator[Part]:
        if is_leaf(tensor) and tensor.grad is not None:
            yield Part(".grad of {0}", tensor.grad, kind="grad")
        if tensor._is_view() and tensor._base is not None:
            yield Part("_base of view {0}", tensor._base, kind="base")
        for table in self._tables(tensor):
            for hook in _hooks(table):
                yield from of_hook(hook)
        for name, inner in list(getattr(tensor, "__dict__", {}).items()):
            yield Part(f".{name}", inner)
        # a leaf's accumulator holds nothing; asking PyTorch for it would make one
        waiting = [self._reader.root(tensor)] if has_node(tensor) else []
        while waiting:
            node = waiting.pop()
            if node is not None and node not in self._told:
                self._told.add(node)
                yield from self._of_node(node)
                waiting += [following for following, _ in self._reader.edges(node)]

    def _tables(self, tensor: Any) -> Iterator[object]:
        if self._reader.library == "torch":
            yield tensor._backward_hooks
            yield tensor._post_accumulate_grad_hooks
        elif tensor._meta is not None:
            yield tensor._meta.hooks
            yield tensor._meta.post_accumulate_hooks

    def _of_node(self, node: Any) -> Iterator[Part]:
        name, place = self._reader.name(node), self._reader.place(node)
        for saved in self._reader.kept(node):
            yield Part(f"saved by {name}", saved, kind="saved", place=place, node=node)
        attributes = getattr(node, "attributes", None) or getattr(node, "__dict__", None) or {}
        for key, value in list(attributes.items()) if isinstance(attributes, dict) else ():
            yield Part(f"ctx of {name}: {key}", value, kind="ctx", place=place, node=node)
        extra = getattr(node, "extra", None)  # retrograd's; PyTorch does not show hooks of nodes
        for table in (None, None) if extra is None else (extra.pre, extra.post):
            for hook in _hooks(table):
                yield from of_hook(hook, name)


def of_hook(hook: object, on: str = "{0}") -> Iterator[Part]:
    """A hook, and what it keeps beside its text: it is named by its own line."""
    function = inspect.unwrap(hook) if callable(hook) else hook
    function = getattr(function, "__func__", function)
    place = place_of(function)
    if isinstance(function, types.FunctionType):
        for part in _of_function(function):
            name = part.text.rpartition(": ")[2] if part.kind else part.text
            yield Part(f"hook on {on}", part.value, kind="hook", place=place, variable=name)
    yield Part(f"hook on {on}", hook, kind="hook", place=place)


def of_frame(frame: FrameType, kind: str = "frame") -> list[Part]:
    """The variables of a frame that is not running, each named by its function."""
    name, line = function_name(frame.f_code), frame.f_lineno
    place = Place(frame.f_code.co_filename, line, name)
    return [
        Part(f"frame of {name}: {variable} (line {line})", inner, kind=kind, place=place)
        for variable, inner in locals_of(frame).items()
    ]


def locals_of(frame: FrameType) -> dict[str, object]:
    """The variables of a frame, without leaving references to them behind.

    Before Python 3.13 a frame keeps the dictionary that it was asked for.
    """
    shown = frame.f_locals
    found = dict(shown)
    optimized = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    untraced = frame.f_trace is None and sys.gettrace() is None  # else it is written back
    if sys.version_info < (3, 13) and optimized and untraced and sys.getrefcount(shown) <= 3:
        shown.clear()  # nobody else has it: `locals()` gives out the same one
    return found


def function_name(code: types.CodeType) -> str:
    """The name of a function as a reader of its text would say it: `Trainer.step`."""
    outer, _, name = code.co_qualname.rpartition("<locals>.")
    if name.startswith("<") and outer:  # a lambda
        return f"{name} in {outer.rstrip('.').rpartition('<locals>.')[2]}"
    return name


def place_of(function: object) -> Place | None:
    """Where a function is defined."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return Place(code.co_filename, code.co_firstlineno, function_name(code))


def _of_function(function: types.FunctionType) -> Iterator[Part]:
    code, place = function.__code__, place_of(function)
    name = function_name(code)
    for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            inner = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        yield Part(f"closure of {name}: {variable}", inner, kind="closure", place=place)
    positional = code.co_varnames[: code.co_argcount]
    defaults = zip(positional[::-1], (function.__defaults__ or ())[::-1], strict=False)
    for variable, inner in [*defaults, *(function.__kwdefaults__ or {}).items()]:
        yield Part(f"default of {name}: {variable}", inner, kind="default", place=place)
    for variable, inner in list(function.__dict__.items()):
        yield Part(f".{variable}", inner)


def _of_exception(error: BaseException) -> list[Part]:
    parts = [Part(f".{name}", inner) for name, inner in list(vars(error).items())]
    parts += [Part(f".args[{i}]", inner) for i, inner in enumerate(error.args)]
    parts += [Part(".__cause__", error.__cause__), Part(".__context__", error.__context__)]
    return [*parts, Part(".__traceback__", error.__traceback__)]


def _of_traceback(trace: types.TracebackType | None) -> Iterator[Part]:
    running = set()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        running.add(frame)
        frame = frame.f_back
    while trace is not None:
        if trace.tb_frame not in running:
            yield from of_frame(trace.tb_frame, "exception")
        trace = trace.tb_next


def _of_slots(value: object) -> Iterator[Part]:
    """The attributes of an object of a class of the user's with `__slots__`."""
    if not is_own(type(value).__module__):
        return
    for kind in type(value).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            if not name.startswith("__") and hasattr(value, name):
                yield Part(f".{name}", getattr(value, name))


def _hooks(table: object) -> list[object]:
    return list(table.values()) if isinstance(table, dict) else []


def _key(key: object) -> str:
    """A key as it is typed, or its class where that would be long."""
    plain = (str, int, float, bytes, bool, type(None))
    items = key if isinstance(key, tuple) else (key,)
    if all(isinstance(item, plain) for item in items):
        text = repr(key)
        return text if len(text) <= 60 else f"{text[:57]}..."
    return f"<{type(key).__name__}>"
