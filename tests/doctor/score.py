"""Scores the doctor on programs that an author who knows no rules has labelled.

    python -m tests.doctor.score tests/doctor/blind [--jobs 2] [--out FILE] [--write FILE]
                                 [--device cuda]

The folder has a `labels.json`: for each program its `file`, `fixed` (a diff, or the repaired
program), `cause` (accepted ones), `raises`, `error_line`, `guilty_lines`, `right_fixes` (`kind`,
`line`), or `healthy: true`. The lines are right when the report names one that is guilty, and the
line of the error. A fix is right when the author names its kind at that line (or the next to it,
for lines that are inserted), or when the program with its diff trains and keeps what the author's
repair does. Repaired and healthy programs must get no report. With `--device`, tensors live there.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.doctor.mutation.originals import Original
from tests.doctor.mutation.reality import Reality, same_training
from tests.doctor.mutation.working import Notes, together
from tests.doctor.on_device import write_corpus
from tests.doctor.patches import DoesNotApply, apply, repaired
from tests.doctor.scoring import Score, score_table, totals
from tests.forked import Machine

TITLES = ("programs", "found", "cause right", "lines right", "first fix right", "tried diff")
NEAR = 1  # lines between what was written and where it may stand as well


class Labelled:
    """A folder of labelled programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        labels = json.loads((self.folder / "labels.json").read_text())
        self.faulty = [label for label in labels if not label.get("healthy")]
        self.healthy = [label for label in labels if label.get("healthy")]

    def repaired(self, label: dict[str, Any]) -> Path:
        """The author's repair."""
        path: Path = self.folder / label["fixed"]
        return repaired(path) if path.suffix == ".diff" else path

    def line(self, place: dict[str, Any] | None) -> tuple[str, int]:
        """A place of a report as labels name it."""
        if place is None:
            return "", 0
        return Path(place["file"]).relative_to(self.folder).as_posix(), place["line"]


def labelled_line(text: str) -> tuple[str, int]:
    """`file.py:12` as a pair.

    >>> labelled_line("a/main.py:12")
    ('a/main.py', 12)
    """
    name, _, line = text.rpartition(":")
    return name, int(line)


def examine(corpus: Labelled, label: dict[str, Any], machine: Machine, reality: Reality) -> Score:
    """The doctor on one program with a mistake."""
    report = machine.doctor(corpus.folder / label["file"])
    causes = label["cause"] or ["none"]
    score = Score(causes[0], label["file"], not label["raises"], report=report)
    if not report["diagnoses"]:
        return score
    found = report["diagnoses"][0]
    score.found, score.cause = True, found["category"] in causes
    places = [found["freed_at"], *found["created_at"], found["fix"], found["error_line"]]
    guilty = {labelled_line(line) for line in label["guilty_lines"]}
    raised = not label["raises"] or (
        corpus.line(found["error_line"]) == labelled_line(label["error_line"])
    )
    score.lines = raised and any(corpus.line(place) in guilty for place in places)
    if found["report"]["fixes"]:
        fix = found["report"]["fixes"][0]
        score.tried = bool(fix["diff"] and fix["verified"])
        score.fix = named(corpus, label, fix) or restores(corpus, label, fix, reality)
    return score


def named(corpus: Labelled, label: dict[str, Any], fix: dict[str, Any]) -> bool:
    """Whether the author names this kind of fix there."""
    file, line = corpus.line(fix["place"])
    for right in label["right_fixes"]:
        name, at = labelled_line(right["line"])
        if right["kind"] == fix["kind"] and name == file and abs(at - line) <= NEAR:
            return True
    return False


def restores(
    corpus: Labelled, label: dict[str, Any], fix: dict[str, Any], reality: Reality
) -> bool:
    """Whether the program with the fix trains what the author's repair trains."""
    if not fix["diff"]:
        return False
    program, repair = original(corpus.folder / label["file"]), original(corpus.repaired(label))
    file = Path(fix["place"]["file"])
    try:
        changed = reality.seen(program, file, apply(fix["diff"], file.read_text()))
    except DoesNotApply:
        return False
    wanted = reality.seen(repair)
    if changed["error"] or wanted["error"] or not wanted["steps"]:
        return False
    kept = any(b > h for h, b in zip(wanted["nodes"], changed["nodes"], strict=False))
    return same_training(wanted, changed) and not kept


def original(script: Path) -> Original:
    """A script, or the folder that it is the main program of."""
    return Original(os.fspath(script), script, script.parent if script.name == "main.py" else None)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.doctor.score", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="every program with its report, as JSON")
    parser.add_argument("--resume", action="store_true", help="go on with what is in --out")
    parser.add_argument("--write", type=Path, help="the table, as Markdown")
    parser.add_argument("--plain", action="store_true", help="real processes instead of forks")
    parser.add_argument("--device", help="the default device of the programs, such as cuda")
    options = parser.parse_args()
    corpus, notes = Labelled(options.folder), Notes(options.out)
    if options.resume:
        notes.load()
    with (
        Machine(options.plain) as machine,
        tempfile.TemporaryDirectory(prefix="retrograd-device-") as there,
    ):
        reality, lost = Reality(machine), list[str]()
        if options.device:
            lost = write_corpus(corpus, options.device, Path(there), machine)
            corpus = Labelled(Path(there))

        def one(label: dict[str, Any]) -> Score:
            name = label["file"]
            if name not in notes.mutants:
                notes.mutants[name] = examine(corpus, label, machine, reality).to_data()
                notes.save()
            return Score(**notes.mutants[name])

        def quiet(item: tuple[str, Path]) -> dict[str, Any]:
            name, script = item
            if name not in notes.healthy:
                with tempfile.TemporaryDirectory(prefix="retrograd-healthy-") as folder:
                    notes.healthy[name] = machine.doctor(original(script).written(Path(folder)))
                notes.save()
            return notes.healthy[name]

        scores = together(one, corpus.faulty, options.jobs, "programs")
        healthy = [(label["file"], corpus.folder / label["file"]) for label in corpus.healthy]
        healthy += [(label["fixed"], corpus.repaired(label)) for label in corpus.faulty]
        reports = together(quiet, healthy, options.jobs, "healthy")
    table = score_table(scores, TITLES) + f"\n{totals(scores)}\n"
    false = [
        (name, [found["category"] for found in report["diagnoses"]] or report["status"])
        for (name, _), report in zip(healthy, reports, strict=True)
        if report["diagnoses"] or report["status"] == "died"
    ]
    table += f"\nReports on {len(healthy)} healthy and repaired programs: {len(false)}\n"
    table += "".join(f"- {name}: {causes}\n" for name, causes in false)
    if options.device:
        table += f"\nLeft out, for they do not run on {options.device}: {len(lost)}\n"
        table += "".join(f"- {line}\n" for line in lost)
    notes.save(now=True)
    print(table)
    if options.write:
        options.write.write_text(table)


if __name__ == "__main__":
    main()
