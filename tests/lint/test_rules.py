"""Every rule reports what its table marks and nothing else; the examples of its page too."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from retrograd.lint import RULES, lint_text
from retrograd.lint.declare import FAMILIES, HEADINGS
from tests.lint.cases import Case, read_cases

CASES = read_cases()
RAISING = ("RGL201", "RGL202", "RGL203", "RGL204", "RGL206", "RGL207", "RGL305", "RGL308", "RGL406")
"""The rules that say: this raises."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_snippet(case: Case) -> None:
    report = lint_text(case.source, "case.py", [RULES[case.code]])
    assert report.error == ""
    assert [finding.line for finding in report.findings] == case.lines
    assert bool(case.lines) == (case.kind == "reported")


@pytest.mark.parametrize("code", RULES)
def test_table_is_large_enough(code: str) -> None:
    kinds = Counter(case.kind for case in CASES if case.code == code)
    assert kinds["reported"] >= 6 and kinds["silent"] >= 6


def on_retrograd(source: str) -> str:
    """The program with retrograd as its torch."""
    source = re.sub(r"^(\s*)import torch$", r"\1import retrograd as torch", source, flags=re.M)
    return re.sub(r"^(\s*(?:from|import) )torch\b", r"\1retrograd", source, flags=re.M)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.code in RAISING and c.kind == "reported"], ids=str
)
def test_what_is_said_to_raise_raises(case: Case) -> None:
    kind = ValueError if case.code == "RGL406" else RuntimeError
    with pytest.raises(kind):
        exec(compile(on_retrograd(case.source), str(case), "exec"), {"__name__": "case"})


@pytest.mark.parametrize("code", RULES)
def test_page(code: str) -> None:
    rule = RULES[code]
    assert tuple(rule.sections) == HEADINGS
    assert all(rule.sections.values())
    assert code[:4] in FAMILIES
    note = "" if rule.default else f"\nOff unless selected: `--select {code}`.\n"
    summary = rule.summary[0].upper() + rule.summary[1:]
    head = f"# {code}: {rule.slug}\n\n{summary}.\n{note}\n## What it does\n"
    assert rule.page.startswith(head)
    assert all(len(line) <= 96 for line in rule.page.splitlines())
    assert rule.summary[0].islower() or rule.summary.startswith(("Variable", "LBFGS"))
    assert rule.fix in ("none", "safe", "unsafe")
    assert ("There is no fix" in rule.sections["Fix safety"]) or rule.fix != "none"


@pytest.mark.parametrize("code", RULES)
def test_examples_of_the_page(code: str) -> None:
    rule = RULES[code]
    rules = [other for other in RULES.values() if other.default or other is rule]
    found = lint_text(rule.reported, "example.py", rules).findings
    assert [finding.code for finding in found] == [code]
    assert found[0].title and found[0].fixes
    assert lint_text(rule.silent, "example.py", list(RULES.values())).findings == []


@pytest.mark.parametrize("code", RULES)
def test_good_example_runs(code: str) -> None:
    exec(compile(on_retrograd(RULES[code].silent), code, "exec"), {"__name__": code})


def test_codes_and_names_are_unique() -> None:
    assert list(RULES) == sorted(RULES)
    assert len({rule.slug for rule in RULES.values()}) == len(RULES)
