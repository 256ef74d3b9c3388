"""The mistake that the README shows is found before the program runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retrograd.lint import fixing, lint_text

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(py|python)\n(.+?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAMS = [text for kind, text in BLOCKS if kind == "py" and ".backward()" in text]
HEALTHY = [text for kind, text in BLOCKS if kind == "python"]


def test_the_mistake_is_found_where_the_report_points() -> None:
    (program,) = PROGRAMS
    (finding,) = lint_text(program, "train_rnn.py").findings
    line, column = finding.start
    assert finding.code == "RGL203"
    assert f"--> train_rnn.py:{line}:{column}\n" in README


def test_the_fix_is_the_one_of_the_report() -> None:
    pytest.importorskip("libcst")
    (program,) = PROGRAMS
    findings = lint_text(program, "train_rnn.py").findings
    changed = fixing.apply_fixes(program, findings, unsafe=True).text
    (line,) = set(changed.splitlines()) - set(program.splitlines())
    assert f"+  | {line}\n" in README
    assert lint_text(changed, "train_rnn.py").findings == []


def test_the_other_programs_are_healthy() -> None:
    assert HEALTHY
    for program in HEALTHY:
        assert lint_text(program, "README.md").findings == []
