"""What a type checker says of programs: nothing of right ones, something of each mistake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "typed"
RIGHT, WRONG = PROGRAMS / "right.py", PROGRAMS / "wrong.py"

pytestmark = pytest.mark.slow  # it reads the whole package


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, str]]:
    """The first error of each line, by file."""
    found: dict[str, dict[int, str]] = {RIGHT.name: {}, WRONG.name: {}}
    options = ["--strict", "--follow-imports=silent", "--config-file="]
    options.append(f"--cache-dir={tmp_path_factory.mktemp('mypy')}")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(RIGHT), str(WRONG)],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.stderr == ""
    for line in run.stdout.splitlines():
        error = re.match(r".*?(\w+\.py):(\d+): error: (.*)", line)
        if error is not None:
            found[error[1]].setdefault(int(error[2]), error[3])
    return found


def test_right_programs_give_no_error(said: dict[str, dict[int, str]]) -> None:
    assert said[RIGHT.name] == {}


def test_every_mistake_is_found_on_its_line_and_nothing_else(
    said: dict[str, dict[int, str]],
) -> None:
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(marked) > 50
    assert {lines[number - 1] for number in marked - said[WRONG.name].keys()} == set()
    assert {n: text for n, text in said[WRONG.name].items() if n not in marked} == {}
