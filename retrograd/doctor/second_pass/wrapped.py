"""Second pass: functions that a grad mode was wrapped around by a call, not by a decorator.

`model.forward = torch.no_grad()(model.forward)` switches gradients off in the lines of the method,
where nothing is to be changed. What counts is the line that wraps it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from retrograd.doctor.session import Watched
from retrograd.watching import source


class Wrapped:
    """Knows which of the open scopes are those of wrapped functions, and where that was done."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.lines: dict[int, tuple[str, int]] = {}  # position of the scope -> file and line

    def install(self) -> Callable[[], None]:
        """Watch the grad modes; the result takes the patch away again."""
        torch = self.watched.engine.torch
        undo = [self._patch(mode) for mode in (torch.no_grad, torch.inference_mode)]

        def remove() -> None:
            for each in undo:
                each()

        return remove

    def _patch(self, mode: Any) -> Callable[[], None]:
        own, original, wrapped = mode.__dict__.get("__call__"), mode.__call__, self

        def __call__(opened: Any, function: Any) -> Any:
            inner = original(opened, function)
            line = wrapped._line()
            if line is None or isinstance(function, type):
                return inner
            return wrapped._noted(inner, line)

        def undo() -> None:
            if own is None:
                del mode.__call__
            else:
                mode.__call__ = own

        mode.__call__ = __call__
        return undo

    def _line(self) -> tuple[str, int] | None:
        """The line of the program that wraps a function; None for a decorator in its place."""
        log = self.watched.tracer.log
        place = log.place_of(log.here())
        if place is None or _is_decorator(place.file, place.line):
            return None
        return place.file, place.line

    def _noted(self, inner: Callable[..., object], line: tuple[str, int]) -> Callable[..., object]:
        @functools.wraps(inner)
        def noted(*args: object, **keywords: object) -> object:
            position = len(self.watched.recorder.scopes)  # of the scope that is opened now
            self.lines[position] = line
            try:
                return inner(*args, **keywords)
            finally:
                self.lines.pop(position, None)

        return noted


def _is_decorator(file: str, line: int) -> bool:
    return any(
        decorator.lineno <= line <= node.lineno
        for node in ast.walk(source.tree_of(file))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for decorator in node.decorator_list
    )
