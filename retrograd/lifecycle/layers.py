"""Which layer was running: the path of a module from the user's variable, read after an error.

`Module.__call__` keeps no record of the calls under way. When an error passes it, the frames of
`forward` are still there: each has its module, a module's `_modules` has the names of its children,
and the line that called the outermost one has the variable. So a path costs nothing until it is
asked.

>>> import retrograd as torch
>>> model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(4, 2))
>>> try:
...     model(torch.zeros(3, 5))
... except RuntimeError as error:
...     print(error.report.facts["inside"])
inside model[1] (Linear(in_features=4, out_features=2, bias=True))
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterator
from sys import _getframe, getrefcount
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from .site import CallSite, is_library

if TYPE_CHECKING:
    from retrograd.nn.module import Module

_LONGEST_FORM = 80
_UNKNOWN = object()


def note_layer(error: Exception, module: object) -> None:
    """Tell in a note which layer an error comes from, unless its report says so already.

    To be called where a call of `module` fails, by `Module.__call__` or its compiled form, which
    has no frame. An error keeps the first path that it gets, which is that of the innermost layer.
    """
    try:
        if os.environ.get("RETROGRAD_REPORT") == "short":
            return
        facts = getattr(getattr(error, "report", None), "facts", None)
        if isinstance(facts, dict) and facts.get("inside"):
            return
        if any(str(note).startswith("inside ") for note in getattr(error, "__notes__", ())):
            return
        text = inside(_getframe(1), module)
        if text is not None:
            error.add_note(text)
    except Exception:
        return  # an error is never replaced by another one about it


def inside(frame: FrameType | None, innermost: object = None) -> str | None:
    """`inside model.layers[2].fc1 (Linear(...))` for the innermost layer that runs in a frame.

    innermost  a module that the frame calls, whose own frames are gone
    """
    calls = list(_calls(frame))
    if innermost is not None and not any(module is innermost for module, _ in calls[:1]):
        calls.insert(0, (innermost, frame))
    if not calls:
        return None
    calls.reverse()  # from the outermost one
    paths: dict[int, str] = {}
    for number, (module, caller) in enumerate(calls):
        if id(module) in paths:
            continue
        for outer, _ in reversed(calls[:number]):
            steps = _steps(outer, module)
            if steps is not None:
                paths[id(module)] = paths[id(outer)] + steps
                break
        else:
            paths[id(module)] = _variable(module, caller, paths) or type(module).__name__
    module = calls[-1][0]
    path, form = paths[id(module)], _form(module)
    return f"inside {form}" if path == type(module).__name__ else f"inside {path} ({form})"


def _calls(frame: FrameType | None) -> Iterator[tuple[Any, FrameType | None]]:
    """The modules under way with the frames that called them, innermost first."""
    while frame is not None:
        code = frame.f_code
        first = code.co_varnames[0] if code.co_argcount else ""
        if code.co_name == "forward" or (first == "self" and is_library(code.co_filename)):
            module = variables(frame).get(first)
            if _is_module(module):
                yield module, frame.f_back
        frame = frame.f_back


def variables(frame: FrameType) -> dict[str, object]:
    """The variables of a frame, without a copy of them that stays with it.

    Such a copy is what Python makes until 3.12: it would keep alive what the variables hold, the
    error under way among them. It is emptied, unless the program has it too, from `locals()`.
    """
    held = frame.f_locals
    found = dict(held)
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and isinstance(held, dict):
        if getrefcount(held) <= 3:  # the frame's, the one here, and the argument
            held.clear()
    return found


def _is_module(value: object) -> bool:
    own = getattr(value, "__dict__", None)
    return isinstance(own, dict) and "_modules" in own and "_parameters" in own


def _form(module: object) -> str:
    """The module as it prints, if that is short; else its class."""
    text = repr(module)
    return text if len(text) <= _LONGEST_FORM and "\n" not in text else type(module).__name__


# --- from a module to one below it ----------------------------------------------------------------


def _steps(outer: Module, inner: Module) -> str | None:
    """How the program writes the way from a module to one below it; None if it is not below."""
    seen = {id(outer)}
    waiting: list[tuple[str, Any]] = [("", outer)]
    while waiting:  # the shortest way first
        path, module = waiting.pop(0)
        if module is inner:
            return path
        for name, child in module.__dict__["_modules"].items():
            if _is_module(child) and id(child) not in seen:
                seen.add(id(child))
                waiting.append((path + step(module, name), child))
    return None


def step(module: Module, name: str) -> str:
    """How the program writes one child of a module: `.fc1`, `[2]`, `["a"]`."""
    if hasattr(type(module), "__getitem__"):  # a container: `ModuleDict` has keys, others numbers
        if hasattr(type(module), "keys"):
            return f'["{name}"]'
        if name.isdecimal():
            return f"[{name}]"
    return f".{name}" if name.isidentifier() else f'.get_submodule("{name}")'


# --- the variable of the outermost module ---------------------------------------------------------


def _variable(module: object, caller: FrameType | None, paths: dict[int, str]) -> str | None:
    """The name that the calling code has for a module, as its line writes it or else any.

    `paths` has those of the modules around: `self` in the `forward` of one of them is that one.
    """
    frame = caller
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    names = variables(frame)
    written = _written(frame.f_code, frame.f_lasti)
    if written is not None:
        value = _value(written[1], names, frame.f_globals)
        if value is module or (value is _UNKNOWN and frame is caller):
            first, dot, rest = written[0].partition(".")
            around = paths.get(id(names.get("self"))) if first == "self" else None
            return written[0] if around is None else around + dot + rest
    read = frame.f_code.co_names
    named = {name: frame.f_globals[name] for name in read if name in frame.f_globals}
    for name, value in (names | named).items():
        if value is module and not name.startswith("_"):
            return name
    for name, owned in getattr(names.get("self"), "__dict__", {}).items():
        if owned is module:
            return f"self.{name}"
    return None


def _written(code: CodeType, lasti: int) -> tuple[str, ast.expr] | None:
    """What a line calls, with its syntax: `self.model` of `self.model(x)`."""
    syntax = CallSite(code, lasti).syntax
    if syntax is None or not isinstance(syntax.node, ast.Call):
        return None
    called = syntax.node.func
    if isinstance(called, ast.Attribute) and called.attr in ("forward", "__call__"):
        called = called.value
    text = syntax.source(called)
    return None if text is None or not _is_path(called) else (text, called)


def _is_path(node: ast.expr) -> bool:
    """Whether an expression is a variable with attributes and items, such as `self.layers[i]`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant | ast.Name) and _is_path(node.value)
    if isinstance(node, ast.Attribute):
        return _is_path(node.value)
    return isinstance(node, ast.Name)


def _value(node: ast.expr, names: dict[str, object], shared: dict[str, object]) -> Any:
    """What such an expression stands for, as far as it can be known without running user code."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, shared.get(node.id, None))
    if isinstance(node, ast.Attribute):
        own = getattr(_value(node.value, names, shared), "__dict__", {})
        return own.get(node.attr, own.get("_modules", {}).get(node.attr, _UNKNOWN))
    if isinstance(node, ast.Subscript):
        owner = _value(node.value, names, shared)
        key = _value(node.slice, names, shared)
        if type(owner) in (list, tuple, dict):
            try:
                return owner[key]
            except (LookupError, TypeError):
                return None
    return _UNKNOWN
