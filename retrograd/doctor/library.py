"""`with retrograd.doctor.watch() as report:` around a piece of a program."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Protocol

from retrograd.doctor import rules, session
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.result import Result
from retrograd.doctor.session import Watched
from retrograd.graph.program_record import ProgramRecord
from retrograd.graph.schema import Recording
from retrograd.watching import source
from retrograd.watching.endings import first_line, strip_own_frames
from retrograd.watching.engines import choose_engine
from retrograd.watching.lines import LEAF

if TYPE_CHECKING:
    from retrograd.doctor.fixes.again import Again
    from retrograd.doctor.second_pass.in_block import BlockRunner


class Report:
    """What was found: empty while the block runs, filled when it ends. `print` shows it all."""

    def __init__(self) -> None:
        self.result = Result(script=sys.argv[0] if sys.argv else "")
        self.graph: Recording | str = "`watch(graph=True)` records it"

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """The findings, most likely cause first."""
        return self.result.diagnoses

    @property
    def unseen(self) -> list[str]:
        """What could not be looked at, and why."""
        return self.result.unseen

    def to_json(self) -> dict[str, object]:
        """The report for programs, as `retrograd doctor --json` writes it."""
        from retrograd.doctor.report.json_form import document

        return document(self.result)

    def to_html(self) -> str:
        """The report as a web page, with the graph if it was recorded."""
        from retrograd.doctor.report.html import page

        return page(self.result, self.graph)

    def text(self, *, width: int = 80, color: bool = False) -> str:
        """The report as text."""
        from retrograd.doctor.report.terminal import render

        return render(self.result, width=width, color=color)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from retrograd.doctor.report.html import fragment

        return fragment(self.result)


class InTrial(Protocol):
    """A process that runs a program again because of one of its blocks."""

    def block_begins(self, number: int, watched: Watched) -> None:
        """A block is about to begin, the first one with number 1."""

    def block_ends(self, number: int, watched: Watched, result: Result) -> None:
        """A block has ended and was looked at."""


in_trial: InTrial | None = None
_blocks = 0  # that have begun in this process


class watch:
    """Watch the autograd calls of a block, and say what was wrong when it ends.

    engine   "torch" or "retrograd"; by default PyTorch if the program has imported it
    graph    record the life of the graph, too: `report.to_html()` shows it beside the findings
    verify   try the fixes, and look for what only slower watching can tell: the program runs
             again in a new process up to the end of the block.
             By default if it has computed for less than 20 s; it is stopped before it changes
             anything outside. True permits both, False never runs anything

    An exception goes on its way, with the report as a note; the report is there nevertheless.
    Optimizers and values that were made before are taken in. One block can be watched at a time,
    and the threads that it starts are watched too.

    >>> import retrograd.doctor
    >>> x = torch.ones(3, requires_grad=True)
    >>> with retrograd.doctor.watch(engine="retrograd") as report:
    ...     (x * x).sum().backward()
    >>> report.diagnoses
    []
    """

    def __init__(
        self, engine: str | None = None, *, graph: bool = False, verify: bool | None = None
    ) -> None:
        self._engine = choose_engine(engine)
        self._graph = graph
        self._verify = verify
        self._watched: Watched | None = None
        self._number = 0
        self.again: Callable[[int], Again] | None = None
        """How the code runs again of which this is the so many-th block, if the caller knows it."""
        self._runner: BlockRunner | None = None
        self._started = 0.0
        self.report = Report()

    def __enter__(self) -> Report:
        return self.start(sys._getframe(1))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish(error)
        if error is not None and self.report.diagnoses:
            error.add_note(f"\n{self.report.text()}")

    def start(self, frame: FrameType | None) -> Report:
        """Begin; the functions from `frame` outwards run already."""
        outer = session.current()
        if outer is not None:
            if outer.whole_program:
                self.report.unseen.append("this block: the doctor watches the whole program")
                return self.report
            raise RuntimeError(
                "the doctor is already watching: a watch() block cannot begin inside another one, "
                "or in another thread at the same time"
            )
        self.report.result.engine = self._engine.name
        self._watched = session.make(self._engine)
        if self._graph:
            self._watched.record = ProgramRecord(os.path.basename(self.report.result.script))
        global _blocks
        _blocks += 1
        self._number = _blocks
        self._started = time.perf_counter()
        if in_trial is not None:
            in_trial.block_begins(self._number, self._watched)
        session.begin(self._watched, frame)
        return self.report

    def finish(self, error: BaseException | None) -> None:
        """End, and fill the report."""
        watched, result = self._watched, self.report.result
        if watched is None:
            return
        if error is not None and not isinstance(error, (SystemExit, GeneratorExit)):
            watched.error = strip_own_frames(error)
            result.error = first_line(error)
        session.end(watched)
        if self._graph:
            self.report.graph = watched.graph
        result.seconds = watched.seconds = time.perf_counter() - self._started
        source.forget()
        watched.note_training(result)
        if in_trial is None:
            self._permit_second_pass(watched)
        result.diagnoses = rules.diagnose(watched)
        self._watched = None
        if in_trial is not None:
            result.unseen += watched.unseen
            in_trial.block_ends(self._number, watched, result)
            return
        _note_what_was_before(watched, result)
        if result.diagnoses:
            self._try_fixes(result)
        result.keep_texts(source.text_at)
        result.unseen += [sentence for sentence in watched.unseen if sentence not in result.unseen]

    def _permit_second_pass(self, watched: Watched) -> None:
        """Let the rules ask what only another run can tell."""
        try:
            from retrograd.doctor.second_pass.in_block import BlockRunner

            watched.second_pass = self._runner = BlockRunner(watched, self._code(), self._verify)
        except Exception as error:  # the rules then say what they could not ask
            watched.unseen.append(f"the doctor failed here: second pass: {first_line(error)}")

    def _code(self) -> Again:
        """How this block can run again by itself."""
        from retrograd.doctor.fixes.again import of_this_process

        return (self.again or of_this_process)(self._number)

    def _try_fixes(self, result: Result) -> None:
        """Write the fixes as diffs, and try them where the code can run again by itself."""
        try:
            from retrograd.doctor.fixes.again import try_fixes

            asked = self._runner is not None and self._runner.has_answered()
            try_fixes(result, self._code(), self._verify, asked)
        except Exception as error:  # the findings stand without them
            result.unseen.append(f"the doctor failed here: fixes: {first_line(error)}")


def _note_what_was_before(watched: Watched, result: Result) -> None:
    """Say why a report has no line for a value that is older than the block."""
    failure = watched.recorder.failure
    if failure is None or not result.diagnoses or not result.diagnoses[0].error:
        return
    numbers = [number for number in failure.nodes.values() if number < LEAF]
    known = failure.call.log.numbers
    if known and numbers and min(numbers) < known[0]:
        result.diagnoses[0].notes.append(
            "a part of this graph was made before watching began: its lines are not known"
        )
