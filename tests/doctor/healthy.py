"""Counts the doctor's reports on healthy programs: there should be none.

    python -m tests.doctor.healthy [--jobs 2] [--out FILE] [--resume] [--only WORD]

Each program runs as by `retrograd doctor --json program.py`, on real PyTorch: those that the
mutation score breaks, unbroken (labelled repairs, healthy cases, examples, `tests/programs`); the
healthy and repaired ones of folders with a `labels.json`; the twins of public programs; the good
examples of the pages of lint rules and codes; and the healthy programs of the frameworks that are
installed (`make frameworks` makes an environment with them: `build/frameworks/bin/python -m
tests.doctor.healthy --only frameworks`). Twins and examples run on retrograd, too. What does not
end well by itself is listed and not counted, for it proves nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retrograd.diagnostics.catalogue import catalogue
from retrograd.diagnostics.pages import parse_page
from retrograd.lint import RULES
from tests.doctor.mutation.originals import DOCTOR, Original, originals
from tests.doctor.mutation.working import Notes, together
from tests.doctor.score import Labelled, original
from tests.forked import ROOT, WITH_DOCTOR, Machine
from tests.frameworks.test_frameworks import NEEDS, PROGRAMS, is_installed

NOT_PYTORCH = ("RG9", "RG119", "RG120")  # pages about what is retrograd's own

ON_RETROGRAD = ", on retrograd"


def labelled() -> Iterator[tuple[str, Original]]:
    """What authors have repaired or declared healthy."""
    for found in originals():
        group = "labelled programs" if "tests/doctor" in found.name else "examples and programs"
        yield group, found
    for folder in sorted(path.parent for path in DOCTOR.glob("*/labels.json")):
        corpus = Labelled(folder)
        scripts = [corpus.folder / label["file"] for label in corpus.healthy]
        scripts += [corpus.repaired(label) for label in corpus.faulty]
        for script in scripts:
            yield f"tests/doctor/{folder.name}", original(script)


def twins() -> Iterator[tuple[str, Original]]:
    """Programs of the structure of public ones."""
    for script in sorted((DOCTOR / "twins").glob("*.py")):
        yield "twins of public programs", original(script)


def on_pages(folder: Path) -> Iterator[tuple[str, Original]]:
    """The good examples of the documentation, as programs in a folder."""
    for code, rule in RULES.items():
        yield "good examples of lint rules", _written(folder / f"{code}.py", rule.silent)
    for code in catalogue():
        text = parse_page(code).works.replace("retrograd", "torch")
        if not code.startswith(NOT_PYTORCH) and "backward" in text:
            yield "good examples of error codes", _written(folder / f"{code}.py", text)


def _written(script: Path, text: str) -> Original:
    script.write_text(text)
    return Original(script.stem, script)


def on_retrograd() -> Iterator[tuple[str, Original]]:
    """The same programs, where `import torch` means retrograd."""
    for group, program in (*labelled(), *twins()):
        if "tests/doctor" not in group and group != "labelled programs":
            yield f"{group}{ON_RETROGRAD}", program


def frameworks() -> Iterator[tuple[str, Original]]:
    """Loops inside libraries, of those that this Python has."""
    for script in sorted(PROGRAMS.glob("*_healthy.py")):
        if is_installed(NEEDS[script.stem.split("_")[0]]):
            yield "frameworks", original(script)
        else:
            print(f"not installed: {script.stem}", file=sys.stderr)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.doctor.healthy", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="what was seen, as JSON")
    parser.add_argument("--resume", action="store_true", help="go on with what is in --out")
    parser.add_argument("--only", default="", help="only groups with this word")
    parser.add_argument("--plain", action="store_true", help="real processes instead of forks")
    options = parser.parse_args()
    notes = Notes(options.out)
    if options.resume:
        notes.load()
    with tempfile.TemporaryDirectory(prefix="retrograd-pages-") as pages:
        found = [*labelled(), *twins(), *on_pages(Path(pages)), *on_retrograd()]
        found += frameworks()
        found = [pair for pair in found if options.only in pair[0]]
        # retrograd stands in for torch only where torch has not been imported yet
        plain = options.plain
        with Machine(plain) as with_torch, Machine(plain, WITH_DOCTOR) as without:

            def one(pair: tuple[str, Original]) -> dict[str, Any]:
                group, program = pair
                key = f"{group}: {program.name.removeprefix(f'{ROOT}/')}"
                if key not in notes.healthy:
                    with tempfile.TemporaryDirectory(prefix="retrograd-healthy-") as folder:
                        script = program.written(Path(folder))
                        ours = group.endswith(ON_RETROGRAD)
                        engine = ("--engine", "retrograd" if ours else "torch")
                        report = (without if ours else with_torch).doctor(script, options=engine)
                    notes.healthy[key] = {"name": key, **report}
                    notes.save()
                return notes.healthy[key]

            reports = together(one, found, options.jobs, "healthy")
    notes.save(now=True)
    show([group for group, _ in found], reports)


def show(groups: list[str], reports: list[dict[str, Any]]) -> None:
    """The sum, by group, and every program that is in the way of it."""
    print("| programs | healthy runs | reports |\n| --- | ---: | ---: |")
    runs, alarms = Counter[str](), Counter[str]()
    odd: list[str] = []
    for group, report in zip(groups, reports, strict=True):
        causes = [found["category"] for found in report["diagnoses"]]
        if causes:
            alarms[group] += 1
            odd.append(f"- {report['name']}: {', '.join(causes)}")
        elif report["status"] != "healthy":
            odd.append(f"- {report['name']}: not counted, {report['status']}")
            continue
        runs[group] += 1
    for group in dict.fromkeys(groups):
        print(f"| {group} | {runs[group]} | {alarms[group]} |")
    print(f"| all | {runs.total()} | {alarms.total()} |")
    print("\n".join(odd))


if __name__ == "__main__":
    main()
