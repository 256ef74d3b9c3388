"""Lint and the doctor know one set of causes: each is tried on the other's programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from retrograd.diagnostics.catalogue import causes, causes_of
from retrograd.lint import RULES
from tests.lint.agreement import Program, compare, corpus, snippets

PROGRAMS = list(corpus())
HEALTHY = [program for program in PROGRAMS if not program.accepted]
BROKEN = [program for program in PROGRAMS if program.accepted]
TOO_SHORT = {
    *("RGL101", "RGL102", "RGL104", "RGL302", "RGL303", "RGL304", "RGL306", "RGL309"),
    *("RGL404", "RGL405", "RGL411", "RGL412", "RGL413"),
}
"""Rules whose page has an example that is too short for the doctor to be sure."""


def by_name(program: Program) -> str:
    return program.name


def test_the_catalogue_knows_every_rule_and_no_other() -> None:
    named = {rule for cause in causes().values() for rule in cause.rules}
    assert named <= set(RULES)
    unnamed = {code for code in RULES if not causes_of(code) and RULES[code].default}
    assert unnamed == {"RGL205", "RGL301", "RGL307"}


@pytest.mark.parametrize("program", HEALTHY, ids=by_name)
def test_nothing_is_said_of_healthy_and_repaired_programs(program: Program) -> None:
    assert program.rules == []


def test_what_lint_says_is_a_cause_that_the_author_names() -> None:
    said = {(p.name, code): p.accepted for p in BROKEN for code in p.rules}
    assert len(said) > 30
    for (name, code), accepted in said.items():
        assert accepted & {cause.slug for cause in causes_of(code)}, (name, code)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each script")
def test_what_lint_says_the_doctor_confirms(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    table = compare([program for program in BROKEN if program.rules])
    pages = compare([program for program in snippets(tmp_path) if program.name.endswith(" page")])
    print(f"the doctor's programs:\n\n{table.text()}\nlint's pages:\n\n{pages.text()}")
    assert table.contradictions == table.unseen == pages.contradictions == []
    assert {entry.partition(" ")[0] for entry in pages.unseen} == TOO_SHORT
