"""The record of a whole program, as `retrograd view` and the doctor's page make it."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from retrograd.graph.recorder import Variables
from retrograd.graph.recording import record
from retrograd.graph.schema import Recording
from retrograd.graph.steps import KEPT
from retrograd.watching.engines import Engine
from retrograd.watching.places import is_user_file_or_in


class ProgramRecord:
    """Records a program from the moment it has its library until it has ended."""

    def __init__(
        self,
        title: str,
        steps: int = KEPT,
        wanted: Iterable[int] = (),
        *,
        every_step: bool = False,
    ) -> None:
        self._recording = record(steps=steps, title=title, every_step=every_step)
        self._wanted = frozenset(wanted)  # steps that are never left out
        self.namespace: dict[str, Any] = {}  # of the program's `__main__`
        self.left_early = False  # it ended by os._exit

    @property
    def begun(self) -> bool:
        """Whether there is something to look at."""
        return self._recording.recorder is not None

    def begin(self, engine: Engine, frame: FrameType | None, own: tuple[str, ...] = ()) -> None:
        """Record from here; files below the folders `own` are the program's.

        Where a tracer runs already, its lines are taken.
        """
        self._recording.start(engine, frame, self._wanted, is_user_file_or_in(own))

    def stop_lines(self) -> None:
        """No line of the program's own runs any more."""
        if self._recording.recorder is not None:
            self._recording.recorder.tracer.stop()

    def end(self, error: BaseException | None) -> Recording:
        """What was recorded; the variables of the functions that failed are looked at, too."""
        scopes: list[Any] = [Variables(self.namespace)]
        trace = None if error is None else error.__traceback__
        while trace is not None:
            scopes.insert(0, trace.tb_frame)
            trace = trace.tb_next
        self._recording.finish(error, scopes)
        data = self._recording.data
        if self.left_early:
            data.notes.append("not seen: what the program left undone: it ended by os._exit")
        return data
