"""Inside the process of a program that the doctor watches: the diagnosis, written into a file.

The process that started this one makes the report of it.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from retrograd.diagnostics.errors import RetrogradError
from retrograd.doctor import rules, session
from retrograd.doctor.pulse import Pulse
from retrograd.doctor.result import Result
from retrograd.doctor.second_pass.runner import Runner
from retrograd.doctor.session import Watched
from retrograd.doctor.waiting import waited
from retrograd.graph.program_record import ProgramRecord
from retrograd.watching import source
from retrograd.watching.effects import Effects
from retrograd.watching.endings import first_line, is_from_outside
from retrograd.watching.engines import Engine, TorchEngine
from retrograd.watching.files import as_json, write_atomically
from retrograd.watching.processes import ENDED
from retrograd.watching.program import Program
from retrograd.watching.program_run import ProgramRun, run_to_the_end


class Watch(ProgramRun):
    """One program under the doctor."""

    def __init__(self, config: dict[str, Any]) -> None:
        program = Program(config["script"], config["module"], tuple(config["arguments"]))
        super().__init__(program, config["engine"])
        self.again: bool | None = config["second_pass"]
        self.answer = Path(config["answer"])
        self.begun = self.answer.with_name("begun")  # tells the process that waits
        self.ended = self.answer.with_name(ENDED)
        self.folder = os.getcwd()
        self.effects = Effects(self.answer.parent)
        self.watched: Watched | None = None
        # where the graph of the run is written, if a picture of it is asked for
        self.recorded = Path(config["recorded"]) if config.get("recorded") else None
        self.result = Result()
        self.note = ""  # the library's own report of the error
        self.started, self.waited_before = time.perf_counter(), waited()

    def before(self) -> None:
        """Listen to what the program does to files and processes."""
        self.effects.start()

    def after(self) -> None:
        """No line of the program's own runs any more."""
        if self.watched is not None:
            self.watched.tracer.stop()

    def begin(self, engine: Engine) -> None:
        """The program has the library now: watch, and count its time from here."""
        self.begun.touch()
        self.start_watching(engine)
        assert self.watched is not None
        self.watched.recorder.pulse = Pulse(self._write_interim)
        if isinstance(engine, TorchEngine):
            from retrograd.doctor.children import watch_children

            watch_children(self.answer.parent)

    def start_watching(self, engine: Engine) -> None:
        """Watch from now on, the functions that run already too."""
        self.started, self.waited_before = time.perf_counter(), waited()
        self.result.engine = "torch" if isinstance(engine, TorchEngine) else "retrograd"
        self.watched = session.make(engine, self.own)
        self.watched.effects = self.effects
        self.watched.whole_program = True
        if self.recorded is not None:
            title = self.program.module or os.path.basename(self.script)
            self.watched.record = ProgramRecord(title)
            self.watched.record.namespace = self.namespace
        session.begin(self.watched, sys._getframe(2))

    def _write_interim(self) -> None:
        """What is known now, in case that the program ends in a way that lets nothing be told."""
        if self.watched is None or os.getpid() != self.process:
            return
        watched = replace(self.watched, second_pass=None, unseen=[])
        result = replace(self.result, script=self.script, unseen=[], texts={})
        result.rank = self.rank()
        result.seconds = time.perf_counter() - self.started
        result.waited = waited() - self.waited_before
        result.interim = result.seconds
        result.effects = list(self.effects.seen)
        result.calls = len(watched.recorder.calls)
        result.gradients = watched.recorder.gradients.who_received()
        result.diagnoses = rules.diagnose(watched)
        result.keep_texts(source.text_at)
        if watched.error is not None:
            result.error = first_line(watched.error)
        result.unseen += watched.unseen
        write_atomically(self.answer, as_json(result.to_data()))

    def rank(self) -> str:
        """The number of this process in its group, if it has one."""
        return os.environ.get("RANK", "")

    def show(self, error: BaseException) -> None:
        """Print the error; what retrograd says about it waits: one mistake has one report."""
        if isinstance(error, RetrogradError):
            self.note = error.take_note()
        super().show(error)

    # ------------------------------------------------------------------------------- end

    def tell(self) -> None:
        """Look at what was seen, and write it down for the process that waits."""
        self.effects.stop()
        if isinstance(self.error, MemoryError):  # what the program holds would be in the way
            traceback.clear_frames(self.error.__traceback__)
            self.namespace.clear()
        result = self.result
        result.script, result.status, result.error = self.script, self.status, self.shown
        result.started = self.found
        if self.left_early:
            result.unseen.append("what the program left undone: it ended by os._exit")
        result.seconds = time.perf_counter() - self.started
        result.waited = waited() - self.waited_before
        result.effects = list(self.effects.seen)
        if self.watched is not None:
            self._diagnose(self.watched, result)
            if self.note and not result.diagnoses:
                print(self.note, file=sys.stderr)
        elif result.started:
            result.unseen.append("the program did not import torch")
        self.write(result)

    def write(self, result: Result) -> None:
        """Write the answer."""
        write_atomically(self.answer, as_json(result.to_data()))

    def _diagnose(self, watched: Watched, result: Result) -> None:
        try:
            os.chdir(self.folder)  # where a second run has to start
            watched.error = self.error or watched.error or self._caught(watched)
            watched.recorder.pulse = None
            if watched.record is not None:
                watched.record.left_early = self.left_early
            session.end(watched)
            if self.recorded is not None:
                self.recorded.write_bytes(pickle.dumps(watched.graph))
            watched.status = result.status
            watched.seconds = result.seconds
            watched.note_training(result)
            if self.program.script is not None and self.again is not False:
                script = Path(os.path.abspath(self.program.script))
                runner = Runner(watched, script, list(self.program.arguments))
                runner.forced = self.again is True
                runner.before = self._write_interim
                watched.second_pass = runner
            self._forget_what_came_from_outside(watched)
            result.diagnoses = rules.diagnose(watched)
            if not (result.calls or result.diagnoses):
                result.unseen.append("the program did not call backward")
            result.keep_texts(source.text_at)
            if watched.error is not None and not result.error:
                result.error = first_line(watched.error)
        except Exception as error:
            watched.unseen.append(f"the doctor failed here: {type(error).__name__}: {error}")
        result.unseen += [sentence for sentence in watched.unseen if sentence not in result.unseen]

    def _forget_what_came_from_outside(self, watched: Watched) -> None:
        """Ctrl-C or a full memory: the faults of a program that ended well are looked for."""
        if watched.error is not None and is_from_outside(watched.error):
            watched.error, watched.status = None, 0
            failure = watched.recorder.failure
            if failure is not None and is_from_outside(failure.error):
                watched.recorder.failure = None

    def _caught(self, watched: Watched) -> BaseException | None:
        """The error of the last backward call, if the program caught it and gave up."""
        failure = watched.recorder.failure
        if failure is None or self.result.status == 0:
            return None
        return failure.error if failure.call is watched.recorder.calls[-1] else None


def main(config: str) -> int:
    """Run the program that a configuration file describes."""
    import json

    asked = json.loads(Path(config).read_text(encoding="utf-8"))
    return run_to_the_end(_kind(asked.get("trial") or {})(asked))


def _kind(trial: dict[str, Any]) -> type[Watch]:
    """What the process is for: the program itself, or something to be found out about it."""
    if "question" in trial:
        from retrograd.doctor.second_pass.in_block import BlockQuestion

        return BlockQuestion
    if trial.get("block"):
        from retrograd.doctor.fixes.block_trial import BlockTrial

        return BlockTrial
    if trial:
        from retrograd.doctor.fixes.trial import Trial

        return Trial
    return Watch
