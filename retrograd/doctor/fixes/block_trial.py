"""One trial of a fix for a `watch()` block, a test or a cell: its program again, up to its end.

The program runs as it does by itself, with the edit laid over its files. Its blocks watch as they
did; the report of the one that is meant is the answer, and nothing runs after it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import Any, NoReturn

from retrograd.doctor import library
from retrograd.doctor.fixes.trial import Stopped, Trial
from retrograd.doctor.result import Result
from retrograd.doctor.session import Watched
from retrograd.watching.effects import listen, watch_library
from retrograd.watching.engines import Engine


class BlockTrial(Trial):
    """The run of a program in which the report of one block counts."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.block: int = config["trial"]["block"]
        self._done = False
        # what a test writes into a temporary folder goes into that of the trial
        folder = self.answer.with_name("temporary")
        folder.mkdir()
        tempfile.tempdir = os.fspath(folder)
        library.in_trial = self

    def begin(self, engine: Engine) -> None:
        """The program has the library: hear what it does, and look at the clock."""
        self.started = time.perf_counter()
        watch_library(engine.torch)
        self.look_at_losses(engine)

    def block_begins(self, number: int, watched: Watched) -> None:
        """The blocks before have had their time; what their losses were does not count."""
        if number == self.block:
            self.finite = True
            watched.recorder.name_parameters()

    def block_ends(self, number: int, watched: Watched, result: Result) -> None:
        """The answer is known: leave, with no further effect."""
        if number != self.block:
            return
        if isinstance(watched.error, Stopped):
            self.stopped, result.error = str(watched.error), ""
            result.diagnoses.clear()
        self._leave(result)

    def tell(self) -> None:
        """The program has ended, and never came to the end of the block."""
        if not self._done:
            if isinstance(self.error, Stopped):
                self.stopped = str(self.error)
            self._leave(Result(script=self.script, error=self.shown, started=False))

    def _leave(self, result: Result) -> None:
        self._done = True
        result.seconds = time.perf_counter() - self.started
        self.write(result)
        leave()


def leave() -> NoReturn:
    """End the process, with no further effect."""
    listen(None)
    sys.stdout.flush()
    os._exit(0)
