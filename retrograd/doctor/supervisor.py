"""The process beside the program: starts it, waits, passes signals on, and makes the report.

The program runs in a process of its own that it can end in any way; the report is made here, after
it has ended, where nothing that it has changed can be in the way.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from retrograd.doctor.children import add_children
from retrograd.doctor.result import INTERRUPTED, PROCESS, Result, result_from
from retrograd.graph.schema import Recording
from retrograd.watching.files import as_json, write_atomically
from retrograd.watching.processes import command_of, how_it_ended, wait


@dataclass
class Order:
    """What the command line asks for."""

    script: str | None
    module: str | None = None
    arguments: list[str] = field(default_factory=list)
    engine: str | None = None
    second_pass: bool | None = None
    verify: bool | None = None
    apply: bool = False
    yes: bool = False
    max_seconds: float | None = None
    json: Path | None = None
    html: Path | None = None
    passthrough: bool = False


def examine(order: Order) -> int:
    """Run the program, report, and give the exit status of the command."""
    result, graph = watch(order)
    if not result.started:
        return 2
    try_fixes(order, result)
    report(order, result, graph)
    if order.apply:
        apply_fix(order, result)
    return status_of(order, result)


def status_of(order: Order, result: Result) -> int:
    """The exit status of the command: 1 for a finding, else the program's own."""
    if result.diagnoses and not order.passthrough:
        return 1
    return result.status or int(bool(result.error) and not order.passthrough)


# ----------------------------------------------------------------------------- the program


def watch(order: Order) -> tuple[Result, Recording | str]:
    """Run the program under the doctor in a process of its own.

    Beside what was found, the life of the graph where the page shows it, or why it cannot.
    """
    with tempfile.TemporaryDirectory(prefix="retrograd-") as folder:
        config, answer = Path(folder, "order.json"), Path(folder, "answer.json")
        recorded = Path(folder, "recorded")
        asked = {
            "script": order.script,
            "module": order.module,
            "arguments": order.arguments,
            "engine": order.engine,
            "second_pass": order.second_pass,
            "answer": os.fspath(answer),
            "recorded": None if order.html is None else os.fspath(recorded),
        }
        config.write_text(as_json(asked), encoding="utf-8")
        command = command_of(PROCESS, config)
        status, stopped = wait(command, order.max_seconds, Path(folder, "begun"))
        result = _read(answer, order, status)
        add_children(result, Path(folder))
        graph = _read_graph(recorded)
    if stopped and (result.status == INTERRUPTED or result.interim):
        result.status, result.error = 0, ""
        result.unseen.append(f"what comes after the first {order.max_seconds:g} seconds")
    return result, graph


def _read_graph(recorded: Path) -> Recording | str:
    """What the process has recorded, or why there is nothing."""
    try:
        found: Recording | str = pickle.loads(recorded.read_bytes())
    except FileNotFoundError:
        return "the program ended before anything was recorded"
    except Exception as error:  # a program that was killed while it wrote
        return f"what was recorded cannot be read: {type(error).__name__}"
    return found


def _read(answer: Path, order: Order, status: int) -> Result:
    """What the process has told, or what can be said if it could not."""
    own = status if status >= 0 else 128 - status
    try:
        result = result_from(json.loads(answer.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        script = os.path.abspath(order.script) if order.script else f"-m {order.module}"
        result = Result(script=script)
        result.unseen.append(
            f"the program: it ended {how_it_ended(status)} before anything could be seen"
        )
    if result.interim:
        result.unseen.append(
            f"what came after the first {result.interim:.0f} seconds: the program ended "
            f"{how_it_ended(status)}"
        )
    result.status = own
    return result


# -------------------------------------------------------------------------------- the fixes


def try_fixes(order: Order, result: Result) -> None:
    """Write the proposed changes as diffs, and try them on a copy where that is harmless."""
    from retrograd.doctor import fixes

    try:
        fixes.propose_all(result.diagnoses)
        if order.verify is False or not result.diagnoses:
            return
        if order.verify is None and result.own_seconds > fixes.VERIFIED_BELOW and not order.apply:
            reason = "not tried: the program takes long; --verify tries it"
            fixes.say_of_first(result.diagnoses, reason)
            return
        if sys.stderr.isatty():  # it takes some seconds
            print("\nretrograd doctor: trying the fixes on a copy ...", file=sys.stderr)
        fixes.verify_all(result.diagnoses, fixes.Request.of(order, result))
    except Exception as error:  # the diagnosis stands without it
        result.unseen.append(f"the doctor failed here: fixes: {type(error).__name__}: {error}")


def apply_fix(order: Order, result: Result) -> None:
    """Write the best fix into the user's file, if it was proven by trying it."""
    from retrograd.doctor import fixes

    best = [fix for diagnosis in result.diagnoses for fix in diagnosis.fixes if fix.verified]
    if best:
        fixes.offer(best[0], yes=order.yes)
    elif result.diagnoses:
        print("retrograd doctor: not applied: no fix was proven by trying it", file=sys.stderr)


# ------------------------------------------------------------------------------- the report


def report(order: Order, result: Result, graph: Recording | str) -> None:
    """The report on standard error, and in files if they were asked for."""
    from retrograd.doctor.report import html, json_form, terminal

    terminal.show(result, sys.stderr)
    if order.json is not None:
        _write(order.json, as_json(json_form.document(result)) + "\n")
    if order.html is not None:
        _write(order.html, html.page(result, graph))


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        print(f"retrograd doctor: {path}: {error.strerror}", file=sys.stderr)
