"""Lint and the doctor on each other's programs: what one says, the other confirms.

    python -m tests.lint.agreement

prints the table: for each cause and each lint rule that the catalogue names for it, on how many
programs both say so, lint only, the doctor only; then every program on which the two contradict.

The programs are the doctor's labelled ones with a mistake, and lint's: the snippets that are
reported and the example of every page. Many of lint's are too short for the doctor, which wants to
see a graph grow, or parameters stay as they are, over several passes: there it says nothing.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retrograd.diagnostics.catalogue import causes, causes_of
from retrograd.lint import RULES, lint_text
from tests.doctor.in_forks import examine
from tests.doctor.patches import repaired
from tests.doctor.test_silent import expected_in
from tests.lint.cases import read_cases

DOCTOR = Path(__file__).parents[1] / "doctor"


@dataclass
class Program:
    """A program, and the causes that its author accepts: none for a healthy one."""

    name: str
    script: Path
    accepted: frozenset[str] = frozenset()

    @property
    def rules(self) -> list[str]:
        """The lint rules that speak about it, by code."""
        inside = self.script.name == "main.py"
        files = sorted(self.script.parent.rglob("*.py")) if inside else [self.script]
        found = [f for file in files for f in lint_text(file.read_text(), str(file)).findings]
        return sorted({finding.code for finding in found})


def corpus() -> Iterator[Program]:
    """The doctor's programs, each followed by its repair."""
    for path in (*sorted(DOCTOR.glob("*/cases*.json")), DOCTOR / "blind/labels.json"):
        data = json.loads(path.read_text())
        for label in data["cases"] if isinstance(data, dict) else data:
            yield from _labelled(path.parent, label)
    for path in sorted((DOCTOR / "silent").glob("*.py")):
        expected = frozenset(cause for cause, _, _ in expected_in(path))
        yield Program(f"silent/{path.stem}", path, expected)


def _labelled(folder: Path, label: dict[str, Any]) -> Iterator[Program]:
    script = label.get("script") or label["file"]
    if "category" in label:
        healthy = label["category"] == "healthy"
        accepted = {label["category"], *label.get("category_also", ())}
    else:
        healthy = bool(label.get("healthy"))
        accepted = set(label.get("cause") or ["none"])
    name = f"{folder.name}/{script}"
    yield Program(name, folder / script, frozenset() if healthy else frozenset(accepted))
    if label.get("fixed"):
        diff = folder / label["fixed"]
        yield Program(f"{name} repaired", repaired(diff) if diff.suffix == ".diff" else diff)


def snippets(folder: Path) -> Iterator[Program]:
    """Lint's programs, written to a folder: those with a cause that the catalogue knows."""
    texts = [(c.code, str(c), c.source) for c in read_cases() if c.kind == "reported"]
    texts += [(code, f"{code} page", rule.reported) for code, rule in RULES.items()]
    for number, (code, name, text) in enumerate(texts):
        known = frozenset(cause.slug for cause in causes_of(code))
        if known:
            script = folder / f"snippet_{number}.py"
            script.write_text(text)
            yield Program(name, script, known)


@dataclass
class Table:
    """Counts by cause and rule, and what is to be looked at."""

    counts: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    contradictions: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)  # by the doctor, of what lint says

    def add(self, program: Program, found: list[str]) -> None:
        """Count what lint and the doctor (`found`: causes) say of one program."""
        said = set()
        for code in program.rules:
            of_rule = {cause.slug for cause in causes_of(code)}
            both = of_rule & set(found)
            said |= of_rule
            for cause in both or (of_rule & program.accepted) or of_rule or {"(none)"}:
                self.counts[cause, code]["agree" if both else "lint only"] += 1
            if of_rule and not both:
                where = self.contradictions if found else self.unseen
                where.append(f"{program.name}: lint {code}, doctor {', '.join(found) or 'nothing'}")
        for cause in set(found) - said:
            rules = causes()[cause].rules
            self.counts[cause, ", ".join(rules) or "(no rule)"]["doctor only"] += 1

    def text(self) -> str:
        """In Markdown."""
        kinds = ("agree", "lint only", "doctor only")
        lines = ["| cause | lint rule | " + " | ".join(kinds) + " |"]
        lines.append("| --- | --- |" + " --: |" * len(kinds))
        for (cause, code), counts in sorted(self.counts.items()):
            numbers = " | ".join(str(counts[kind]) for kind in kinds)
            lines.append(f"| {cause} | {code} | {numbers} |")
        total = sum(self.counts.values(), Counter())
        lines.append("| all | | " + " | ".join(str(total[kind]) for kind in kinds) + " |")
        for title, entries in (
            ("They contradict each other", self.contradictions),
            ("The doctor says nothing", self.unseen),
        ):
            if entries:
                lines += ["", f"{title}:", "", *(f"- {entry}" for entry in entries)]
        return "\n".join(lines) + "\n"


def doctor_on(program: Program) -> list[str]:
    """The causes that the doctor finds, the first one first."""
    return [found["category"] for found in examine(program.script)["found"]]


def compare(programs: list[Program]) -> Table:
    """Run both on the programs."""
    table = Table()
    for program in programs:
        table.add(program, doctor_on(program))
    return table


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broken = [program for program in corpus() if program.accepted]
        print(compare([*broken, *snippets(Path(folder))]).text(), end="")


if __name__ == "__main__":
    main()
