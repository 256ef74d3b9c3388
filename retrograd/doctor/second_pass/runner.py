"""Starts the second pass in a new process, if that is harmless, and reads its answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.doctor.session import Watched

PERMIT = " (--second-pass permits it)"
LONGEST_FIRST_PASS = 60.0  # seconds; a longer program is not run again unasked

_START = """
import sys
root, config = sys.argv[1:]
sys.path[0] = root
sys.path.append(root)
from retrograd.doctor.second_pass.__main__ import main
main(config)
"""


class Runner:
    """What `Watched.second_pass` holds: call it with a question, get the answer or a refusal.

    `forced` lifts the limits: the user has said that the program may run again.
    """

    def __init__(self, watched: Watched, script: Path, arguments: list[str]) -> None:
        self.watched = watched
        self.script = script
        self.arguments = arguments
        self.folder = os.getcwd()
        self.forced = False
        self.before: Callable[[], None] | None = None  # called before the program runs again
        self._known: dict[str, dict[str, Any]] = {}

    def __call__(self, question: dict[str, object]) -> dict[str, Any]:
        """Run the program again with the modes that the question needs."""
        key = json.dumps(question, sort_keys=True)
        if key not in self._known:
            reason = self.reason_against()
            if not reason and self.before is not None:
                self.before()
            self._known[key] = {"refused": reason} if reason else self._run(question)
        return self._known[key]

    def reason_against(self) -> str:
        """Why the program should not run again unasked; "" if nothing speaks against it."""
        if self.forced:
            return ""
        if self.watched.seconds > LONGEST_FIRST_PASS:
            return f"not run again, the first run took {self.watched.seconds:.0f} s{PERMIT}"
        effects = list(self.watched.effects.seen)
        return f"not run again, because {effects[0]}{PERMIT}" if effects else ""

    def _run(self, question: dict[str, object]) -> dict[str, Any]:
        root = Path(__file__).resolve().parents[3]
        with tempfile.TemporaryDirectory(prefix="retrograd-") as folder:
            config, answer = Path(folder, "question.json"), Path(folder, "answer.json")
            asked = {
                **question,
                "script": os.fspath(self.script),
                "arguments": self.arguments,
                "answer": os.fspath(answer),
                "forced": self.forced,
                "engine": self.watched.engine.torch.__package__,
            }
            config.write_text(json.dumps(asked))
            try:
                subprocess.run(
                    [sys.executable, "-c", _START, os.fspath(root), os.fspath(config)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=120 + 10 * self.watched.seconds,
                    cwd=self.folder,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return {"refused": "the second run took too long"}
            if not answer.exists():
                return {"refused": "the second run ended without an answer"}
            result: dict[str, Any] = json.loads(answer.read_text())
        if "refused" not in result and not same_end(result, self.watched.error):
            return {"refused": "the second run ended in another way than the first"}
        return result


def same_end(result: dict[str, Any], error: BaseException | None) -> bool:
    """Whether the second run met the same error; a run that stopped early has decided."""
    if result["stopped"]:
        return True
    return bool(result["error"] == ("" if error is None else kind_of(error)))


def kind_of(error: BaseException) -> str:
    """An error without the numbers in its message that may differ from run to run."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:60]}"
