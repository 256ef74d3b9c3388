"""One parameter, followed through a function that computes a loss: where does its path end?"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.watching.cut_marks import MARK, NOTHING, CutMarks, Event, Mark
from retrograd.watching.engines import Engine, Original
from retrograd.watching.graph import storage_of, tensors_in
from retrograd.watching.places import is_user_code
from retrograd.watching.torch_types import TensorLike


class Followed(CutMarks):
    """Runs a function and marks what depends on one parameter.

    Beside the tensors, memory is marked that was written to: `h.data.copy_(x)` changes `h`.
    """

    def __init__(self, engine: Engine, parameter: Any) -> None:
        super().__init__(engine.torch)
        self.parameter = parameter
        self.used: Place | None = None  # the last line that used it or what came of it
        self.roots: list[Any] = []  # that were sent back in the function
        self._engine = engine
        self._written: dict[int, Mark] = {}
        self._kept: list[object] = []  # so that memory is not given out again
        self._scopes: list[tuple[str, Place | None]] = []

    def run(self, function: Callable[[], object]) -> Any:
        """The loss: what the function gives back, else what it has sent back last."""
        undo = self._engine.watch(self._around)
        modes = [self._scope_of(kind) for kind in (self.torch.no_grad, self.torch.inference_mode)]
        copies = [self._copying(kind) for kind in (self.torch.Tensor, self.torch.nn.Parameter)]
        self.start()
        try:
            result = function()
        finally:
            self.stop()
            for each in (undo, *modes, *copies):
                each()
        found = tensors_in(result, self.torch.Tensor) or self.roots[-1:]
        if not found:
            raise ValueError("run= must return the loss, or call backward() on it")
        return found[0]

    def bit_of(self, leaf: TensorLike) -> int:
        return 1 if leaf is self.parameter else 0

    def stack(self) -> list[list[object]]:
        found: list[list[object]] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if is_user_code(code.co_filename):
                found.append([code.co_filename, frame.f_lineno, code.co_qualname])
            frame = frame.f_back
        return found[::-1]

    def switched_off(self) -> tuple[bool, list[object] | None]:
        enabled = bool(self.torch.is_grad_enabled())
        if enabled or not self._scopes:
            return enabled, None
        name, place = self._scopes[-1]
        return enabled, None if place is None else [name, place.file, place.line]

    def mark_of(self, tensor: TensorLike) -> Mark:
        found = super().mark_of(tensor)
        if found is NOTHING and self._written and getattr(tensor, MARK, None) is None:
            return self._written.get(storage_of(tensor), NOTHING)
        return found

    def pass_on(
        self, name: str, args: Sequence[object], keywords: Mapping[str, object], result: object
    ) -> None:
        super().pass_on(name, args, keywords, result)
        marks = [self.mark_of(t) for t in tensors_in([args, keywords], self.torch.Tensor)]
        if any(mark.live for mark in marks):
            self.used = place_of(self.stack())
        if args and result is args[0] and isinstance(result, self.torch.Tensor):
            self._note_write(name, result)

    def _note_write(self, name: str, target: Any) -> None:
        """Written in place: what shares the memory has the value, maybe without the history."""
        mark = getattr(target, MARK, NOTHING)
        if mark.live:
            mark = Mark(0, mark.cuts | {self.event(name, mark.live)})
        if mark.cuts:
            self._kept.append(target)
            self._written[storage_of(target)] = mark

    def set_mark(self, tensor: TensorLike, mark: Mark) -> None:
        super().set_mark(tensor, mark)
        self._kept.append(tensor)

    def forget(self) -> None:
        """Take the marks off what lives on."""
        for thing in self._kept:
            vars(thing).pop(MARK, None)
        self._kept.clear()
        self._written.clear()

    def cuts_of(self, loss: Any) -> list[Event]:
        """The cuts between the parameter and the loss, the likeliest first."""
        mark = self.mark_of(loss)
        chosen = sorted((i for i in mark.cuts if self.events[i].lost), key=self.rank)
        return [self.events[index] for index in chosen]

    def left(self, loss: Any) -> list[Event]:
        """Where values of the parameter became numbers, arrays or lists; nobody follows those."""
        last = self.mark_of(loss).escape
        order = [last] if last >= 0 else self.escapes[::-1]
        found = []
        for index in order:
            behind = sorted(self.events[index].behind, reverse=True)
            found += [self.events[each] for each in behind or [index]]
        return [event for event in found if event.lost]

    def _around(
        self,
        outputs: Sequence[Any],
        retain: bool,
        create: bool,
        inputs: Sequence[Any],
        accumulates: bool,
        run: Original,
    ) -> object:
        self.roots += tensors_in(list(outputs), self.torch.Tensor)
        self.paused += 1
        try:
            return run()
        finally:
            self.paused -= 1

    def _scope_of(self, kind: Any) -> Callable[[], None]:
        """Remember the lines that open a block without gradients."""
        enter, leave, watch = kind.__enter__, kind.__exit__, self

        @functools.wraps(enter)  # TorchScript compiles its text
        def __enter__(mode: object) -> object:
            watch._scopes.append((kind.__name__, place_of(watch.stack())))
            return enter(mode)

        @functools.wraps(leave)
        def __exit__(mode: object, *exception: object) -> object:
            if watch._scopes:
                watch._scopes.pop()
            return leave(mode, *exception)

        kind.__enter__, kind.__exit__ = __enter__, __exit__

        def undo() -> None:
            kind.__enter__, kind.__exit__ = enter, leave

        return undo

    def _copying(self, kind: Any) -> Callable[[], None]:
        """`copy.deepcopy(parameter)` gives a leaf of its own."""
        original, watch = vars(kind).get("__deepcopy__"), self
        if original is None:
            return lambda: None

        def __deepcopy__(tensor: Any, memo: object) -> Any:
            watch.paused += 1
            try:
                made = original(tensor, memo)
            finally:
                watch.paused -= 1
            before = watch.mark_of(tensor)
            if before.live:
                index = watch.event("copy.deepcopy", before.live)
                watch.set_mark(made, Mark(0, before.cuts | {index}))
            return made

        kind.__deepcopy__ = __deepcopy__
        return lambda: setattr(kind, "__deepcopy__", original)


def place_of(stack: Sequence[Sequence[Any]]) -> Place | None:
    """The innermost line of a stack."""
    return Place(*stack[-1]) if stack else None
