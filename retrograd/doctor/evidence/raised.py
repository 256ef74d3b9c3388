"""The error that ended a program: the one that matters in its chain, and where it was raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.doctor.session import Watched
from retrograd.watching import source


@dataclass
class Raised:
    """An error with the user's lines of its traceback."""

    error: BaseException
    stack: list[Place]  # outermost first, ends with the failing line
    frames: list[FrameType]  # the same
    library: list[FrameType]  # frames of libraries below the failing line

    @property
    def place(self) -> Place:
        """The failing line."""
        return self.stack[-1]

    @property
    def frame(self) -> FrameType:
        """The frame of the failing line."""
        return self.frames[-1]

    @property
    def from_library(self) -> bool:
        """Whether a library has raised it, not a `raise` of the program."""
        statement = source.statement_at(self.place.file, self.place.line)
        return bool(self.library) or not isinstance(statement, ast.Raise)

    @property
    def message(self) -> str:
        """ "RuntimeError: first line"."""
        lines = str(self.error).splitlines() or [""]
        return f"{type(self.error).__name__}: {lines[0]}"

    def local(self, name: str, kind: type) -> Any | None:
        """A variable of a library's frame, the innermost that has one of this kind."""
        for frame in reversed(self.library):
            value = frame.f_locals.get(name)
            if isinstance(value, kind):
                return value
        return None


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """An error, the one it was raised from, and so on to the first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def find(watched: Watched, *texts: str) -> Raised | None:
    """The first error of the chain that says one of the texts.

    A wrapper that repeats the message of the error it was raised from is passed over. An error that
    the program handled before a different one ended it does not count.
    """
    found: BaseException | None = None
    for error in chain_of(watched.error):
        if any(text in str(error) for text in texts):
            if found is None or str(error) in str(found) or found.__cause__ is error:
                found = error
        elif found is not None:
            break
    return None if found is None else where(found, watched)


def where(error: BaseException, watched: Watched) -> Raised | None:
    """The user's frames of an error's traceback; None if it has none."""
    stack: list[Place] = []
    frames: list[FrameType] = []
    library: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if watched.tracer.is_user_file(code.co_filename):
            stack.append(Place(code.co_filename, trace.tb_lineno, code.co_qualname))
            frames.append(trace.tb_frame)
            library = []
        else:
            library.append(trace.tb_frame)
        trace = trace.tb_next
    return Raised(error, stack, frames, library) if stack else None
