"""Inside the process of a program that `retrograd view` runs: recorded, and the page written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from retrograd.graph.page import write_page
from retrograd.graph.program_record import ProgramRecord
from retrograd.graph.schema import Recording, to_json
from retrograd.graph.summary import summarized
from retrograd.watching.engines import Engine
from retrograd.watching.files import as_json, write_atomically
from retrograd.watching.processes import ENDED
from retrograd.watching.program import Program
from retrograd.watching.program_run import ProgramRun, run_to_the_end


class View(ProgramRun):
    """One program that is recorded."""

    def __init__(self, config: dict[str, Any]) -> None:
        program = Program(config["script"], config["module"], tuple(config["arguments"]))
        super().__init__(program, config["engine"])
        self.answer = Path(config["answer"])
        self.page = Path(config["page"])
        self.json = None if config["json"] is None else Path(config["json"])
        self.compared: list[int] = config["compare"]
        self.width: int = config["width"]
        self.record = ProgramRecord(
            config["title"], config["steps"], self.compared, every_step=config["every_step"]
        )

    def begin(self, engine: Engine) -> None:
        """The program has the library now: record from here."""
        self.answer.with_name("begun").touch()
        self.ended = self.answer.with_name(ENDED)
        self.record.begin(engine, sys._getframe(1), self.own)

    def after(self) -> None:
        """No line of the program's own runs any more."""
        self.record.stop_lines()

    def tell(self) -> None:
        """Write the page, and say where it is."""
        told: dict[str, object] = {"found": self.found, "seen": False}
        if self.record.begun:
            told["seen"] = True
            self.record.namespace, self.record.left_early = self.namespace, self.left_early
            data = self.record.end(self.error)
            told["summary"] = summarized(data, self.width)
            told["calls"] = len(data.calls)
            told["address"], told["missing"] = self._address(data)
            told["problem"] = self._write(data)
        write_atomically(self.answer, as_json(told))

    def _write(self, data: Recording) -> str:
        """Write the files; gives what went wrong."""
        try:
            write_page(data, self.page)
            if self.json is not None:
                write_atomically(self.json, to_json(data) + "\n")
        except OSError as error:
            return f"{error.filename or self.page}: {error.strerror}"
        return ""

    def _address(self, data: Recording) -> tuple[str, list[int]]:
        """The end of an address that puts two steps side by side; those that are not there."""
        places = {group.name: place for place, group in enumerate(data.groups)}
        missing = [step for step in self.compared if f"step {step}" not in places]
        if not self.compared or missing:
            return "", missing
        one, two = (places[f"step {step}"] for step in self.compared)
        return f"#a=0,g{one}&b=0,g{two}", []


def main(config: str) -> int:
    """Run the program that a configuration file describes."""
    return run_to_the_end(View(json.loads(Path(config).read_text(encoding="utf-8"))))
