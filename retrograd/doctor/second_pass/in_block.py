"""The second pass of a `watch()` block, a test or a cell.

`BlockRunner` is asked by the rules while a block ends, as `Runner` is for a program. It starts what
a trial of a fix starts, the block's code again by itself, but without an edit; `BlockQuestion` runs
there, watches that one block with the modes that the question needs, and leaves when it ends. What
came before the block runs unwatched, so a cut there has no line.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from retrograd.doctor.fixes.again import Again
from retrograd.doctor.fixes.block_trial import BlockTrial, leave
from retrograd.doctor.fixes.trial import Stopped
from retrograd.doctor.fixes.verify import run_again
from retrograd.doctor.result import Result
from retrograd.doctor.second_pass.modes import Answer, Watching, watch_for
from retrograd.doctor.second_pass.number_trial import seed
from retrograd.doctor.second_pass.runner import kind_of, same_end
from retrograd.doctor.session import Watched
from retrograd.watching.engines import Engine
from retrograd.watching.files import as_json, write_atomically

MOST_SECONDS = 60.0  # for all questions of a block: somebody waits in the middle of a program


class BlockRunner:
    """What `Watched.second_pass` holds for a block: call it with a question.

    wanted  True: however long it takes and whatever it does; False: not at all
    """

    def __init__(self, watched: Watched, again: Again, wanted: bool | None) -> None:
        self.watched = watched
        self.again = again
        self.wanted = wanted
        self.seconds = 0.0
        self._known: dict[str, Answer] = {}

    def __call__(self, question: Answer) -> Answer:
        """The answer, or a refusal."""
        key = json.dumps(question, sort_keys=True)
        if key not in self._known:
            started = time.monotonic()
            reason = self._reason_against()
            self._known[key] = {"refused": reason} if reason else self._run(question)
            self.seconds += time.monotonic() - started
        return self._known[key]

    def has_answered(self) -> bool:
        """Whether the code ran again and told something."""
        return any("refused" not in answer for answer in self._known.values())

    def _reason_against(self) -> str:
        if self.wanted is False:
            return "the code was not to run again"
        if self.wanted is None and self.seconds > MOST_SECONDS:
            return f"running the code again took {self.seconds:.0f} s so far{self.again.permit}"
        against = self.again.reason_against(self.wanted)
        return f"not run again, because {against}" if against else ""

    def _run(self, question: Answer) -> Answer:
        if sys.stderr.isatty():
            print("\nretrograd doctor: looking at the code again ...", file=sys.stderr)
        name = "torch" if self.watched.engine.torch.__package__ == "torch" else "retrograd"
        request = self.again.request(name, self.watched.seconds, self.wanted)
        found = run_again(request, {"texts": {}, "question": question})
        if isinstance(found, str):
            return {"refused": f"run again by itself, {found}"}
        if "refused" not in found and not same_end(found, self.watched.error):
            return {"refused": "run again by itself, the code ended in another way"}
        return found


class BlockQuestion(BlockTrial):
    """The run of a program in which one block is watched with the modes of a question."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.question: Answer = config["trial"]["question"]
        self._watching: Watching | None = None

    def begin(self, engine: Engine) -> None:
        """The program has the library: what is compared with another run begins alike."""
        super().begin(engine)
        if self.question.get("silent"):
            seed(engine.torch)

    def block_begins(self, number: int, watched: Watched) -> None:
        """Put the modes in place before the block is watched."""
        if number == self.block:
            self._asked = watched
            self._watching = watch_for(self.question, watched, self._decided)
            self._watching.__enter__()

    def block_ends(self, number: int, watched: Watched, result: Result) -> None:
        """All that could be seen was seen."""
        if number == self.block and self._watching is not None:
            if isinstance(watched.error, Stopped):
                self._refuse(str(watched.error))
            self._watching.__exit__(None, None, None)
            self._answer(self._watching.found(), stopped=False)

    def tell(self) -> None:
        """The program has ended, and never came to the end of the block."""
        if self._done:
            return
        if isinstance(self.error, Stopped):
            self._refuse(str(self.error))
        self._answer({"refused": "run again by itself, it does not come to this place"}, False)

    def _refuse(self, reason: str) -> None:
        self._answer({"refused": f"the second run was stopped: {reason}"}, True)

    def _decided(self, found: Answer) -> None:
        self._answer(found, stopped=True)

    def _answer(self, found: Answer, stopped: bool) -> None:
        """Write it and leave, with no further effect."""
        self._done = True
        error = self._asked.error if self._watching is not None else None
        found |= {"stopped": stopped, "error": "" if error is None else kind_of(error)}
        write_atomically(self.answer, as_json(found))
        leave()
