"""`retrograd view`: the process beside the program, which starts it and says where the page is."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retrograd.diagnostics.layout import text_width
from retrograd.graph.steps import KEPT
from retrograd.watching.files import as_json
from retrograd.watching.processes import command_of, how_it_ended, wait

PROCESS = "retrograd.graph.viewed_process"


@dataclass
class Order:
    """What the command line asks for."""

    script: str | None
    module: str | None = None
    arguments: list[str] = field(default_factory=list)
    engine: str | None = None
    page: Path = Path("graph.html")
    json: Path | None = None
    steps: int = KEPT
    compare: list[int] = field(default_factory=list)
    every_step: bool = False
    max_seconds: float | None = None

    @property
    def title(self) -> str:
        """What the page is called."""
        return self.module or os.path.basename(self.script or "")


def view_program(order: Order) -> int:
    """Run the program, write the page, and give the exit status of the command."""
    with tempfile.TemporaryDirectory(prefix="retrograd-") as folder:
        config, answer = Path(folder, "order.json"), Path(folder, "answer.json")
        asked = {
            "script": order.script,
            "module": order.module,
            "arguments": order.arguments,
            "engine": order.engine,
            "page": os.path.abspath(order.page),
            "json": None if order.json is None else os.path.abspath(order.json),
            "steps": order.steps,
            "compare": order.compare,
            "every_step": order.every_step,
            "title": order.title,
            "width": text_width(),
            "answer": os.fspath(answer),
        }
        config.write_text(as_json(asked), encoding="utf-8")
        command = command_of(PROCESS, config)
        status, stopped = wait(command, order.max_seconds, Path(folder, "begun"))
        try:
            told: dict[str, Any] | None = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            told = None
    own = status if status >= 0 else 128 - status
    if told is not None and not told["found"]:
        return 2
    problem = _report(order, told, how_it_ended(status))
    if problem:
        return 2
    return 0 if stopped and own == 130 else own


def _report(order: Order, told: dict[str, Any] | None, ended: str) -> bool:
    """Say what was recorded; whether the page could not be written."""
    if told is None:
        _say(f"the program ended {ended} before anything could be written: there is no page")
        return False
    if not told["seen"]:
        _say("the program did not import torch: there is no page")
        return False
    print(f"\n{told['summary']}", file=sys.stderr)
    if not told["calls"]:
        _say("the program did not call backward")
    if told["missing"]:
        steps = " and ".join(f"step {step}" for step in told["missing"])
        _say(f"--compare: the recording has no {steps}")
    if told["problem"]:
        _say(told["problem"])
        return True
    address = told["address"]
    page = Path(os.path.abspath(order.page)).as_uri() + address if address else str(order.page)
    print(f"page: {page}", file=sys.stderr)
    return False


def _say(sentence: str) -> None:
    print(f"retrograd view: {sentence}", file=sys.stderr)
