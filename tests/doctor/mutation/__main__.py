"""Breaks healthy programs at known lines, and scores what the doctor says about them.

    python -m tests.doctor.mutation [--kinds WORDS] [--each 22] [--jobs 2] [--out FILE]

A mutant counts when real PyTorch shows that it is a fault: it raises an autograd error, or it
silently trains something else, starves parameters or keeps graphs that the original does not keep.
Then `retrograd doctor --json` looks at it and at the unbroken originals. A fix is right when the
program with its diff trains and keeps what the original does, or, without a diff, when kind and
line are among those that take the mutation back. The run is deterministic. `--out` keeps every
mutant with its report for inspection; with `--resume` what is in it is not done again. `--write`
keeps the table.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doctor.mutation import gradients, graphs
from tests.doctor.mutation.editing import Fault, Text
from tests.doctor.mutation.originals import Original, originals
from tests.doctor.mutation.reality import Reality
from tests.doctor.mutation.working import Notes, together
from tests.doctor.patches import DoesNotApply, apply
from tests.doctor.scoring import Score, score_table, totals
from tests.forked import Machine


@dataclass(frozen=True)
class Mutant:
    """One fault in one file of one program."""

    original: Original
    file: Path
    fault: Fault
    silent: bool = False
    line: Any = None  # where it raises

    @property
    def name(self) -> str:
        return f"{self.original.name}:{self.fault.site} {self.fault.kind}"

    def order(self) -> str:
        """A place among the others that says nothing about the program."""
        return hashlib.sha256((self.name + self.fault.text).encode()).hexdigest()


def candidates(programs: Iterable[Original]) -> dict[str, list[Mutant]]:
    """All mutants that can be written, by kind, in an order that mixes programs."""
    found: dict[str, list[Mutant]] = defaultdict(list)
    for original in programs:
        for file in original.files():
            text = Text(file.read_text())
            for operator in (*gradients.OPERATORS, *graphs.OPERATORS):
                for fault in operator(text):
                    found[fault.kind].append(Mutant(original, file, fault))
    for mutants in found.values():
        mutants.sort(key=Mutant.order)
    return dict(sorted(found.items()))


def real_ones(
    kind: str, mutants: list[Mutant], reality: Reality, each: int, jobs: int, notes: Notes
) -> list[Mutant]:
    """The first so many of a kind that are faults, at most two of a program."""
    chosen: list[Mutant] = []
    of_program: dict[str, int] = defaultdict(int)

    def verdict(mutant: Mutant) -> list[Any]:
        if mutant.order() not in notes.real:
            found = reality.verdict(mutant.original, mutant.file, mutant.fault)
            notes.real[mutant.order()] = list(found)
        return notes.real[mutant.order()]

    waiting = mutants[: 8 * each]
    while waiting and len(chosen) < each:
        now = [m for m in waiting[: 4 * jobs] if of_program[m.original.name] < 2]
        waiting = waiting[4 * jobs :]
        verdicts = together(verdict, now, jobs, f"real: {kind}")
        for mutant, (word, line) in zip(now, verdicts, strict=True):
            if word not in ("raises", "silent") or len(chosen) == each:
                continue
            if of_program[mutant.original.name] < 2:
                of_program[mutant.original.name] += 1
                silent = word == "silent"
                chosen.append(Mutant(mutant.original, mutant.file, mutant.fault, silent, line))
    return chosen


def examine(mutant: Mutant, machine: Machine, reality: Reality) -> Score:
    """What the doctor says about a mutant, and what of it is right."""
    fault = mutant.fault
    with tempfile.TemporaryDirectory(prefix="retrograd-mutant-") as folder:
        script = mutant.original.written(Path(folder), mutant.file, fault.text)
        report = machine.doctor(script)
        kept = json.loads(json.dumps(report).replace(folder + "/", ""))
    score = Score(fault.kind, mutant.name, mutant.silent, report=kept)
    score.change = "\n".join(
        difflib.unified_diff(
            fault.reference.splitlines(), fault.text.splitlines(), n=1, lineterm=""
        )
    )
    if not report["diagnoses"]:
        return score
    found = kept["diagnoses"][0]
    score.found = True
    score.cause = found["category"] in fault.causes
    places = [found["error_line"], found["freed_at"], *found["created_at"], found["fix"]]
    name = mutant.file.name
    named = {p["line"] for p in places if p is not None and Path(p["file"]).name == name}
    raised = found["error_line"] and (
        os.path.basename(found["error_line"]["file"]),
        found["error_line"]["line"],
    )
    at = mutant.line and (os.path.basename(mutant.line[0]), mutant.line[1])
    score.lines = bool(named & set(fault.lines)) and (mutant.silent or raised == at)
    if found["report"]["fixes"]:
        fix = found["report"]["fixes"][0]
        score.tried = bool(fix["diff"] and fix["verified"])
        score.fix = fix_is_right(mutant, fix, reality)
    return score


def fix_is_right(mutant: Mutant, fix: dict[str, Any], reality: Reality) -> bool:
    """With a diff: whether it restores the original; else whether kind and line are right."""
    file = mutant.file
    if not fix["diff"]:
        same = Path(fix["place"]["file"]).name == file.name
        return (
            same
            and fix["kind"] in mutant.fault.fixes
            and fix["place"]["line"] in mutant.fault.lines
        )
    text = mutant.fault.text
    changed = Path(fix["place"]["file"]).name
    if changed != file.name:
        return False
    try:
        return reality.restored(mutant.original, file, mutant.fault, apply(fix["diff"], text))
    except DoesNotApply:
        return False


def examine_all(
    mutants: list[Mutant], machine: Machine, reality: Reality, jobs: int, notes: Notes
) -> list[Score]:
    """The scores of all mutants."""

    def one(mutant: Mutant) -> Score:
        if mutant.order() not in notes.mutants:
            notes.mutants[mutant.order()] = examine(mutant, machine, reality).to_data()
            notes.save()
        return Score(**notes.mutants[mutant.order()])

    return together(one, mutants, jobs, "mutants")


def false_reports(
    programs: list[Original], machine: Machine, jobs: int, notes: Notes
) -> list[tuple[str, dict[str, Any]]]:
    """The unbroken programs about which the doctor says something."""

    def one(original: Original) -> dict[str, Any]:
        if original.name not in notes.healthy:
            with tempfile.TemporaryDirectory(prefix="retrograd-healthy-") as folder:
                report = machine.doctor(original.written(Path(folder)))
            quiet = not report["diagnoses"] and report["status"] != "died"
            notes.healthy[original.name] = {} if quiet else report
            notes.save()
        return notes.healthy[original.name]

    reports = together(one, programs, jobs, "healthy")
    return [(o.name, report) for o, report in zip(programs, reports, strict=True) if report]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.doctor.mutation", description=__doc__)
    parser.add_argument("--kinds", default="", help="only kinds with one of these words: a,b")
    parser.add_argument("--each", type=int, default=14, help="mutants of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="every mutant with its report, as JSON")
    parser.add_argument("--resume", action="store_true", help="go on with what is in --out")
    parser.add_argument("--write", type=Path, help="the table, as Markdown")
    parser.add_argument("--plain", action="store_true", help="real processes instead of forks")
    parser.add_argument("--part", choices=("mutants", "healthy", "both"), default="both")
    options = parser.parse_args()
    words = [word for word in options.kinds.split(",") if word]
    programs, jobs = originals(), options.jobs
    notes = Notes(options.out)
    if options.resume:
        notes.load()
    mutants: list[Mutant] = []
    scores: list[Score] = []
    with Machine(options.plain) as machine:
        reality = Reality(machine)
        if options.part != "healthy":
            for kind, all_of_kind in candidates(programs).items():
                if not words or any(word in kind for word in words):
                    mutants += real_ones(kind, all_of_kind, reality, options.each, jobs, notes)
                    notes.save(now=True)
            scores = examine_all(mutants, machine, reality, jobs, notes)
        table = score_table(scores) + f"\n{totals(scores)}\n"
        if options.part != "mutants":
            table += healthy_lines(programs, false_reports(programs, machine, jobs, notes))
    notes.save(now=True)
    print(table)
    if options.write:
        options.write.write_text(table)


def healthy_lines(programs: list[Original], false: list[tuple[str, dict[str, Any]]]) -> str:
    """How many unbroken programs were reported, and which."""
    text = f"\nReports on the {len(programs)} unbroken programs: {len(false)}\n"
    for name, report in false:
        causes = ", ".join(found["category"] for found in report["diagnoses"])
        text += f"- {name}: {causes or report.get('printed', '')[-300:]}\n"
    return text


if __name__ == "__main__":
    main()
