"""Tries the edits of a diagnosis, each in a process of its own, and puts the proven one first."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from retrograd.diagnostics.report import Fix
from retrograd.doctor.fixes.compare import died, gained, harm, idle, losses_in_words, named
from retrograd.doctor.fixes.edits import (
    FileEdit,
    choose,
    edit_of,
    other_edits,
    write_further,
)
from retrograd.doctor.fixes.text import CannotWrite
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.result import PROCESS, Result, result_from
from retrograd.watching.files import as_json
from retrograd.watching.processes import command_of

PERMIT = " (--verify tries it nevertheless)"
MOST_TRIES = 4
MOST_FORMS = 4  # of one fix: another way to write it, and it with the next one of its kind
MOST_SECONDS = 240.0  # for all tries together
STARTING = 120.0  # what a process may need to import torch and to write its answer
STARTING_BLOCK = 45.0  # the same where somebody waits in the middle of a program
VERIFIED_BELOW = 20.0  # seconds of a program whose fixes are tried unasked
LONGEST_RUN = 60.0  # a program that ran longer is not run again unasked
GIVING = ("broken-graph", "no-grad-scope", "stale-optimizer-params")
"""Causes whose fix must give gradients to parameters that had none."""
TAKING = ("zero-grad-misuse", "freeze-without-effect", "target-with-gradient")
"""Causes whose fix may take gradients away from parameters that have some."""
LENGTHS = ("clipped-before-unscale", "stepped-before-unscale", "clipped-after-step")
"""Causes whose fix gives the steps another length."""
RENUMBERING = (
    *("register-modules", "rebuild-optimizer", "make-leaf", "drop-requires-grad"),
    "tie-parameters",
)
"""Fixes after which an optimizer may hold other parameters in another order."""


EVASIVE = ("retain-graph", "item-for-logging")
"""Fixes that nearly always run, and may train something else than was meant."""


class Ordered(Protocol):
    """What a trial needs of the command line."""

    script: str | None
    module: str | None
    arguments: list[str]
    engine: str | None
    verify: bool | None


@dataclass
class Request:
    """The program, and how its first run went."""

    script: str | None
    module: str | None = None
    arguments: list[str] = field(default_factory=list)
    engine: str | None = None
    forced: bool = False  # the user wants it, whatever the program does
    first: Result = field(default_factory=Result)
    block: int = 0  # the `watch()` block whose report counts; 0: the whole program's
    cells: list[dict[str, Any]] = field(default_factory=list)  # of a notebook: they are the program
    permit: str = PERMIT

    @classmethod
    def of(cls, order: Ordered, result: Result) -> Request:
        """The request that a command line and the first run make."""
        return cls(
            *(order.script, order.module, list(order.arguments), order.engine),
            order.verify is True,
            result,
        )

    def reason_against(self) -> str:
        """Why the program should not run again unasked; "" if nothing speaks against it."""
        if self.forced:
            return ""
        if self.first.own_seconds > LONGEST_RUN:
            return f"the program ran for {self.first.own_seconds:.0f} s{self.permit}"
        if self.first.effects:
            return self.first.effects[0].replace("it ", "the program ", 1) + self.permit
        return ""

    @property
    def seconds(self) -> float:
        """How long a trial may run; it is asked to stop, and counts as far as it came."""
        return min(LONGEST_RUN, 15.0 + 3.0 * self.first.seconds)


def say_of_first(diagnoses: list[Diagnosis], sentence: str) -> None:
    """Say the same of the best proposal of each: why it was not tried."""
    for diagnosis in diagnoses:
        for fix in diagnosis.fixes[:1]:
            if fix.diff:
                fix.verification = sentence


def verify_all(diagnoses: list[Diagnosis], request: Request) -> None:
    """Try the proposals that have an edit, best first, until one of each diagnosis is proven.

    Afterwards a proven fix stands first. Of one that failed the words stay, not the diff. One that
    leaves parameters without any movement is proven, but others are tried beside it.
    """
    waiting = _in_turn(diagnoses)
    against = request.reason_against()
    if against:
        for _, fix in waiting:
            fix.verification = f"not tried: {against}"
        return
    workers = max(1, min(MOST_TRIES, os.cpu_count() or 1))
    deadline = time.monotonic() + MOST_SECONDS
    tries = 0
    with ThreadPoolExecutor(workers) as pool:
        while waiting and tries < MOST_TRIES and time.monotonic() < deadline:
            waiting = [pair for pair in waiting if not _is_settled(pair[0])]
            now = waiting[: min(workers, MOST_TRIES - tries)]
            waiting = waiting[len(now) :]
            tries += len(now)
            list(pool.map(lambda pair: _try(pair[0], pair[1], diagnoses, request, deadline), now))
    for diagnosis in diagnoses:
        _rank(diagnosis)
    # a finding whose fix was tried in vain comes after those whose fix is proven
    diagnoses.sort(key=lambda d: any(f.verified is False for f in d.fixes) and not _is_proven(d))


def verify(diagnosis: Diagnosis, request: Request) -> None:
    """`verify_all` for one diagnosis."""
    verify_all([diagnosis], request)


def _in_turn(diagnoses: list[Diagnosis]) -> list[tuple[Diagnosis, Fix]]:
    """The first proposal of each diagnosis, then the second of each, ..."""
    found = []
    columns = [[fix for fix in d.fixes if edit_of(fix) is not None] for d in diagnoses]
    for position in range(max(map(len, columns), default=0)):
        for diagnosis, column in zip(diagnoses, columns, strict=True):
            if position < len(column):
                found.append((diagnosis, column[position]))
    return found


def _is_proven(diagnosis: Diagnosis) -> bool:
    return any(fix.verified for fix in diagnosis.fixes)


def _is_settled(diagnosis: Diagnosis) -> bool:
    return any(fix.verified and not _idle_of(fix) for fix in diagnosis.fixes)


def _idle_of(fix: Fix) -> int:
    """How many parameters that the program reaches did not move in the trial of a fix."""
    return int(vars(fix).get("_idle", 0))


def _rank(diagnosis: Diagnosis) -> None:
    """A proven fix first, one that failed last and without its diff.

    Else it is the rules' order. What runs without an error but is not what the rules would do
    stays behind what they name before it, unless that was tried in vain.
    """
    proven: list[Fix] = []
    rest: list[Fix] = []
    for fix in diagnosis.fixes:
        waits = fix.kind in EVASIVE and any(_is_better(other) for other in rest)
        (proven if fix.verified and not waits else rest).append(fix)
    proven.sort(key=_idle_of)
    for fix in rest:
        if fix.verified is False:
            fix.diff = ""
    rest.sort(key=lambda fix: fix.verified is False)
    diagnosis.fixes = proven + rest
    _leave_out_repeated(diagnosis)
    for fix in diagnosis.fixes[:1]:  # "or compute it again" was written as the second
        fix.text = fix.text.removeprefix("or ").removeprefix("or, ")
    _leave_out_harm(diagnosis)
    tried = [fix for fix in diagnosis.fixes if fix.verified is False]
    if tried and not _is_proven(diagnosis):
        diagnosis.notes.append("no proposal could be proven by running the program again")


def _is_better(fix: Fix) -> bool:
    """Whether one that was not tried may still be what is meant.

    Losses that cannot be made one sum are as well sent back one by one.
    """
    return fix.verified is None and (bool(fix.diff) or fix.kind != "combine-losses")


def _leave_out_repeated(diagnosis: Diagnosis) -> None:
    """A trial may have led two proposals to the same text: it is shown once."""
    shown: list[FileEdit] = []
    for fix in list(diagnosis.fixes):
        edit = edit_of(fix) if fix.diff else None
        if edit is not None and edit in shown:
            diagnosis.fixes.remove(fix)
        elif edit is not None:
            shown.append(edit)


def _leave_out_harm(diagnosis: Diagnosis) -> None:
    """A change that breaks the training is no answer: where there is no other, only a note."""
    if all("_harmful" in vars(fix) for fix in diagnosis.fixes):
        for fix in diagnosis.fixes:
            where = f"{os.path.basename(fix.place.file)}:{fix.place.line}"
            diagnosis.notes.append(f"not {fix.kind} in {where}: {fix.verification}")
        diagnosis.fixes = []


# ------------------------------------------------------------------------------- one trial


def _try(
    diagnosis: Diagnosis, fix: Fix, diagnoses: list[Diagnosis], request: Request, deadline: float
) -> None:
    """Try the edit of a fix; if it fails, its other form. The first failure is what is told."""
    edit = edit_of(fix)
    assert edit is not None
    waiting = [edit, *other_edits(fix)]
    seen: list[FileEdit] = []
    while waiting and (not seen or time.monotonic() < deadline):
        form = waiting.pop(0)
        seen.append(form)
        found = run_trial(form, request)
        if isinstance(found, str):
            fix.verification = fix.verification or f"not tried to the end: {found}"
            return
        problem = judge(found, diagnosis, fix, diagnoses, request)
        if problem.startswith("?"):
            fix.verification = fix.verification or problem[1:]
            return
        if not problem:
            fix.verified, fix.verification = True, praise(found, request.first)
            dead = died(request.first, found.result) if diagnosis.cause in LENGTHS else ""
            fix.verification += f"; {dead}" if dead else ""
            vars(fix)["_idle"] = len(idle(request.first, found.result))
            choose(fix, form)
            return
        fix.verified, fix.verification = False, fix.verification or problem
        if problem == _harm(request.first, found.result, diagnosis):
            vars(fix)["_harmful"] = True
        further = _further(form, found, fix, diagnosis)
        if further is not None and further not in seen and len(seen) < MOST_FORMS:
            waiting.insert(0, further)


def _further(form: FileEdit, found: Outcome, fix: Fix, diagnosis: Diagnosis) -> FileEdit | None:
    """The edit with what the trial itself advises: of two carried states the second one too.

    A state that is cut where it is read may still grow where it is kept: then it is cut there too.
    """
    for again in found.result.diagnoses[:1]:
        for advised in again.fixes[:1]:
            if advised.kind == fix.kind or _is_kept_for_it(diagnosis, advised):
                try:
                    return write_further(form, advised, again)
                except CannotWrite:
                    return None
    return None


def _is_kept_for_it(diagnosis: Diagnosis, advised: Fix) -> bool:
    """Whether the program keeps its graph for the mistake alone: what was cut needs it no more."""
    return bool(diagnosis.facts.get("retained")) and advised.kind == "drop-retain"


@dataclass
class Outcome:
    """What a trial has shown."""

    result: Result
    stopped: str
    finite: bool


def run_trial(edit: FileEdit | None, request: Request) -> Outcome | str:
    """Run the program with the edit laid over its file; a text says why nothing is known."""
    texts = {} if edit is None else {edit.file: base64.b64encode(edit.after).decode()}
    found = run_again(request, {"texts": texts})
    return found if isinstance(found, str) else _outcome(found)


def run_again(request: Request, asked_for: Mapping[str, object]) -> dict[str, Any] | str:
    """What a new process answers that runs the program again; a text says why it has not."""
    with tempfile.TemporaryDirectory(prefix="retrograd-") as folder:
        config, answer = Path(folder, "trial.json"), Path(folder, "answer.json")
        script = request.script
        if request.cells:
            from retrograd.doctor.fixes.cells import write_program

            script = os.fspath(write_program(request.cells, Path(folder)))
        asked = {
            "script": script,
            "module": request.module,
            "arguments": request.arguments,
            "engine": request.engine,
            "second_pass": False,
            "answer": os.fspath(answer),
            "trial": {
                "block": request.block,
                "seconds": request.seconds,
                "forced": request.forced,
                **asked_for,
            },
        }
        config.write_text(as_json(asked), encoding="utf-8")
        try:
            subprocess.run(
                command_of(PROCESS, config),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=request.seconds + (STARTING_BLOCK if request.block else STARTING),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "it took too long"
        if not answer.exists():
            return "the trial ended without an answer"
        answered: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return answered


def _outcome(data: Mapping[str, Any]) -> Outcome:
    return Outcome(result_from(data["result"]), str(data["stopped"]), bool(data["finite"]))


def judge(
    found: Outcome, diagnosis: Diagnosis, fix: Fix, diagnoses: list[Diagnosis], request: Request
) -> str:
    """What is wrong with a trial; "" if nothing is, "?" and a reason if it cannot be told."""
    result, first = found.result, request.first
    if not result.started and not result.error:
        return "?not decided: the program does not come to this place"
    if result.error:
        same = bool(first.error) and result.error[:60] == first.error[:60]
        return "the same error comes back" if same else f"it ends with {result.error}"
    if any("the doctor failed" in sentence for sentence in result.unseen):
        return "?not decided: the trial could not be looked at"
    if not first.error and result.status != first.status:
        return f"the program ends with status {result.status} instead of {first.status}"
    if first.error and result.status:
        return f"the program ends with status {result.status}"
    if found.stopped and not _got_far(found, first):
        return f"?not decided: the trial was stopped ({found.stopped}) after {result.calls} calls"
    lost = _lost(first, result, fix, diagnosis)
    if lost:
        return lost
    before, after = Counter(d.cause for d in diagnoses), Counter(d.cause for d in result.diagnoses)
    before[diagnosis.cause] -= 1
    if first.error and fix.kind not in ("retain-graph", "create-graph"):
        del after["needless-retain"]  # it was needed for the mistake only
    new = [cause for cause, number in after.items() if number > before[cause]]
    if new:
        again = new[0] == diagnosis.cause
        return "the same report comes back" if again else f"then there is {new[0]}"
    partly = diagnosis.facts.get("partly")  # cut off from one loss, reached by another
    if diagnosis.cause in GIVING and not partly and _received(result) <= _received(first):
        if not first.error and not gained(first, result):
            return "no further parameter gets a gradient"
    if not found.finite:
        return "a loss is not finite"
    return ""


def _got_far(found: Outcome, first: Result) -> bool:
    """Whether a trial that was stopped has passed what went wrong in the first run."""
    return found.result.calls >= first.calls + (3 if first.error else 0)


def _received(result: Result) -> int:
    return sum(sum(row) for row in result.gradients)


def _lost(first: Result, result: Result, fix: Fix, diagnosis: Diagnosis) -> str:
    """What the change breaks; which parameters had gradients in the first run and have none now."""
    cause = diagnosis.cause
    if fix.kind in RENUMBERING:
        wanted = _received(first)
        if diagnosis.facts.get("anew"):  # many optimizers become one
            wanted = max((sum(row) for row in first.gradients), default=0)
        elif fix.kind == "tie-parameters":
            wanted -= int(diagnosis.facts.get("pairs", 0))
        return "" if _received(result) >= wanted else "parameters lose their gradient"
    broken = _harm(first, result, diagnosis)
    if broken or cause in TAKING or diagnosis.facts.get("routed"):
        return broken
    lost = 0
    for number, row in enumerate(first.gradients):
        now = result.gradients[number] if number < len(result.gradients) else []
        for index, had in enumerate(row):
            if had and not (index < len(now) and now[index]):
                lost += 1
    if not lost:
        return ""
    return f"{lost} parameter{'s' * (lost > 1)} would no longer get a gradient"


def _harm(first: Result, result: Result, diagnosis: Diagnosis) -> str:
    """`harm`, with what the mistake itself has done to the gradients left out."""
    cause = diagnosis.cause
    routed = bool(diagnosis.facts.get("routed")) and bool(gained(first, result))
    return harm(first, result, cause == "zero-grad-misuse", cause in LENGTHS, routed)


def praise(found: Outcome, first: Result) -> str:
    """What a good trial has shown, in words."""
    result = found.result
    trained = _received(result)
    total = sum(map(len, result.gradients))
    words = "ran to the end" if not found.stopped else f"ran for {result.calls} backward calls"
    words += " without an error or a report"
    if any(found.cause == "needless-retain" for found in result.diagnoses):
        words += ", but retain_graph is no longer needed then"
    if total:
        words += f"; {trained} of {total} parameters get gradients"
    how = losses_in_words(result)
    return words + (f"; {how}" if how else "") + _also(first, result)


def _also(first: Result, result: Result) -> str:
    """What else the trial has changed in the training."""
    still, new = idle(first, result), gained(first, result)
    words = f"; {named(new)} only now" if new and not first.error else ""
    if still:
        words += f"; {named(still)} {'does' if len(still) == 1 else 'do'} not move"
    return words
