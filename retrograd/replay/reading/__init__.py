"""Reading a step: it runs as it is written, and what it depends on and leaves behind is noted.

`read` walks the text of a function and of the user's functions that it calls. Every expression is
really evaluated, so the result is the ordinary one, whatever is found on the way. What is new are
the guards (each value that came from outside, and where it was), the effects (writes to what
outlives the call), and, where the step does what cannot be repeated from a plan, a refusal: from
there on the step just runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from types import FunctionType, MethodType
from typing import Any

from retrograd.lifecycle.site import is_library
from retrograd.replay.reading.calls import Calls
from retrograd.replay.reading.definitions import Definition, definition_of
from retrograd.replay.reading.effects import Nest, Outside, Unfit, leaving, rebuilt
from retrograd.replay.reading.frames import Frame
from retrograd.replay.reading.guards import Access, Guards, Test, value_at
from retrograd.replay.reading.protocol import Plainly, Recorder, Refusal
from retrograd.replay.reading.surroundings import Place, Surroundings, rare_mode
from retrograd.tensor import Tensor

__all__ = [
    "Guards",
    "Nest",
    "Outside",
    "Plainly",
    "Reading",
    "Readings",
    "Recorder",
    "Refusal",
    "read",
    "rebuilt",
]

CARRIED = (Tensor, tuple, list, dict)  # what a step may find new at each call, in one place


@dataclass(eq=False)
class Reading:
    """What was found out about a step by running it once."""

    result: Any  # what the step returned
    refusal: Refusal | None
    leaving: Any  # the result in a plan's form, see `effects`
    effects: list[tuple[Any, tuple[Any, ...]]]  # calls with such arguments, for the end of a replay
    guards: Guards
    loaded: list[Any]  # of the call that was read, what `check` gives of another
    free: frozenset[Place]  # where other tensors may stand at the next call

    @cached_property
    def check(self) -> Callable[[tuple[Any, ...], dict[str, Any]], list[Any] | None]:
        """A function: the values of places that change from call to call, if all guards hold."""
        return self.guards.checker()


class Readings:
    """Readings of one step: each knows what the ones before it found to change."""

    def __init__(self) -> None:
        self._guards = Guards()
        self._free: frozenset[Place] = frozenset()

    def __call__(
        self,
        step: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        recorder: Recorder | None = None,
    ) -> Reading:
        """Run ``step(*args, **kwargs)`` once, noting what a plan of it must know."""
        free = set(self._free)
        for record in self._guards.broken(args, kwargs):
            if record.test is Test.SAME and isinstance(record.expected, CARRIED):
                free.add((id(self._guards.registers[record.register]), record.key))
        found = Reader(recorder or Plainly(), frozenset(free)).read(step, args, kwargs)
        self._guards, self._free = found.guards, found.free
        return found


def read(
    step: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    recorder: Recorder | None = None,
) -> Reading:
    """Run ``step(*args, **kwargs)`` once, noting what a plan of it must know."""
    return Readings()(step, args, kwargs, recorder)


class Reader(Calls):
    """Runs a step from its text.

    free  places where an earlier reading has found another tensor at each call: they are inputs
    """

    def __init__(self, recorder: Recorder, free: frozenset[Place]) -> None:
        self.recorder = recorder
        self.numbers, self.made, self.functions, self.readers = {}, {}, {}, {}
        self.refusal, self.ran_backward, self.inside, self.effects = None, False, 0, []
        self.free = set(free)
        self.outside = Surroundings(recorder.adopt, self.refuse, free)

    def read(
        self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Reading:
        """Run the step, then look what has changed by it."""
        function = step.__func__ if isinstance(step, MethodType) else step
        definition = definition_of(function) if isinstance(function, FunctionType) else None
        if not isinstance(definition, Definition):
            nothing: Any = ast.parse("lambda: 0", mode="eval").body
            definition = Definition(nothing, "", "")
        self.frame = Frame(definition, {})
        self.outside.known(step, getattr(step, "__name__", type(step).__name__))
        if (mode := rare_mode()) is not None:
            self.refuse(f"{mode} is on around the step")
        self._arguments(args, kwargs)
        depth = sys.getrecursionlimit()
        sys.setrecursionlimit(10 * depth)  # a call that is read takes several calls of Python's
        try:
            result = self.call(step, args, kwargs, self.frame)
        finally:
            sys.setrecursionlimit(depth)
        form = None
        if self.refusal is None:
            self._look_back(args, kwargs)
        if self.refusal is None:
            try:
                form = leaving(result, self.outside.stays, self.numbers)
            except Unfit as error:
                self.refuse(str(error))
        guards, effects = self.outside.guards, self.effects
        values = dict(self.outside.loaded_values())
        loaded = [values.get(register) for register in guards.loaded]
        free = frozenset(self.free)
        return Reading(result, self.refusal, form, effects, guards, loaded, free)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.outside.begin(args, "arguments", 0)
        self.outside.begin(kwargs, "arguments", 1)
        add = self.outside.guards.add
        add(Access.SELF, Test.LENGTH, 0, None, len(args), "the number of arguments")
        add(Access.SELF, Test.KEYS, 1, None, tuple(kwargs), "the names of arguments")
        for index, value in enumerate(args):
            self.outside.found(args, Access.INDEX, index, value, f"argument {index + 1}")
        for name, value in kwargs.items():
            self.outside.found(kwargs, Access.KEY, name, value, f"argument {name}")

    def _look_back(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compare what was found with what is there now: the step must not change what it reads."""
        guards = self.outside.guards
        for record in guards.broken(args, kwargs):
            holder = guards.registers[record.register]
            place = (id(holder), record.key)
            line = self.outside.written.get(place) or self.outside.written.get((id(holder), ...))
            if record.test is Test.GRAD or record.key == "UNUSUAL":
                continue
            if isinstance(record.expected, CARRIED) and record.test is Test.SAME and line:
                now = value_at(record.access, holder, record.key)
                if type(now) is type(record.expected):
                    self.free.add(place)  # a state that is carried over
                    continue
            if line is not None:
                reason = f"{record.path} is read and changed at each call; keep it outside"
                self.refuse(reason, None, None, line)
            else:
                self.refuse(f"{record.path} is changed by what the step calls")
        self.outside.finish()

    # ------------------------------------------------------------------ refusing, running

    def refuse(
        self,
        reason: str,
        frame: Frame | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        """Note, once, why the step cannot be replayed; it goes on and just runs."""
        if self.refusal is None:
            at = self._user_frame(frame or self.frame)
            self.refusal = Refusal(reason, file or at.definition.file, line or at.line)
            self.recorder.refuse(str(self.refusal))

    def _user_frame(self, frame: Frame) -> Frame:
        """The innermost frame of the user's."""
        while frame.caller is not None and is_library(frame.definition.file):
            frame = frame.caller
        return frame

    def plainly(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """Call a function as the user's line would, so that it is the one that is remembered."""
        at = self._user_frame(frame)
        return _located(at.definition.file, at.definition.name, _position(at.node))(
            function, args, kwargs
        )

    def in_call(self, way: Any, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """Let the recorder make a call, from the user's line."""
        self.inside += 1
        try:
            return self.plainly(way, (function, args, kwargs), {}, frame)
        finally:
            self.inside -= 1


def _position(node: ast.AST) -> tuple[int, int, int, int]:
    at: Any = node
    if not hasattr(node, "lineno"):
        return (1, 0, 1, 0)
    return (at.lineno, at.col_offset, at.end_lineno, at.end_col_offset)


@cache
def _located(file: str, name: str, position: tuple[int, int, int, int]) -> Callable[..., Any]:
    """A function that calls what it is given, from a place in the user's text."""
    tree = ast.parse(f"def {name if name.isidentifier() else 'step'}(f, a, k): return f(*a, **k)")
    names = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            vars(node).update(zip(names, position, strict=True))
    space: dict[str, Any] = {}
    exec(compile(tree, file or "<step>", "exec"), space)
    made: Callable[..., Any] = space[name if name.isidentifier() else "step"]
    return made
