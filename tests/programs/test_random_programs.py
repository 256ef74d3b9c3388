"""The command that compares random programs: a few hundred of them, its table, and what it keeps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.autograd import mixed_ops
from tests.autograd.mixed_programs import Found, run_seed
from tests.programs import random_programs
from tests.limits import LIMIT

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_programs_agree(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.programs.random_programs", "--programs", "200"]
    found = subprocess.run(
        [*command, "--jobs", "2", "--keep", str(tmp_path / "kept")],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    lines = found.stdout.splitlines()
    assert lines[-1].startswith("200 programs, 0 differ, 0 ended their process")
    assert lines[-2].split()[0] == "all" and int(lines[-2].split()[1].replace(",", "")) > 1000
    assert not (tmp_path / "kept").exists()


def test_a_difference_is_shrunk_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library that rounds one operation otherwise is found out, with a program that shows it."""

    def wrong(library: Any, x: Any) -> Any:
        return x.square() * (1 if library is torch else 1.001)

    monkeypatch.setitem(mixed_ops.UNARY, "square", wrong)
    run = random_programs.Run(0, 1, 1, tmp_path)
    for seed in range(200):
        try:
            run_seed(torch, seed, brief=True)
        except Found as error:
            found = error
            break
    else:
        pytest.fail("no program has the operation")
    kinds = [step.kind for step in found.steps]
    assert len(kinds) <= 4 and kinds[-1] in ("unary", "checkpoint", "transform", "backward")
    run.take({"differs": seed, "what": "values", "program": random_programs.kept(seed, found)})
    text = (tmp_path / f"seed_{seed}.py").read_text()
    compile(text, "kept", "exec")
    assert "'square'" in text
