"""The doctor on programs of frameworks that have the loop inside: `make frameworks` runs them.

Each program is run by the command on real PyTorch, in a process of its own. A program without the
comment `# fault` is healthy: nothing may be reported.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"

NEEDS = {
    "accelerate": "accelerate",
    "amp": "torch",
    "compile": "torch",
    "ignite": "ignite",
    "lightning": "lightning",
    "sb3": "stable_baselines3",
    "skorch": "skorch",
    "transformers": "transformers",
}
"""What has to be installed, by the first word of a program's name."""

CAUSES = {
    "accelerate_list": "accumulated-history",
    "accelerate_state": "stale-state-carried",
    "accelerate_uncleared": "zero-grad-misuse",
    "amp_uncleared": "zero-grad-misuse",
    "compile_list": "accumulated-history",
    "ignite_total": "accumulated-history",
    "ignite_state": "stale-state-carried",
    "lightning_inplace": "inplace-after-save",
    "lightning_state": "stale-state-carried",
    "lightning_total_returned": "accumulated-history",
    "lightning_tuple": "stale-state-carried",
    "sb3_state": "stale-state-carried",
    "skorch_average": "stale-state-carried",
    "skorch_inplace": "inplace-after-save",
    "transformers_average": "stale-state-carried",
}

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def is_installed(package: str) -> bool:
    """Whether this Python has it."""
    return importlib.util.find_spec(package) is not None


def program(name: str) -> Path:
    """The file of a program; the test is skipped where its framework is not installed."""
    needed = NEEDS[name.split("_")[0]]
    if not is_installed(needed):
        pytest.skip(f"{needed} is not installed: make frameworks")
    return PROGRAMS / f"{name}.py"


def findings(file: Path, folder: Path) -> list[dict[str, object]]:
    """What the doctor reports of a program."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "retrograd", "doctor", "--no-verify", "--json", str(report)]
    done = subprocess.run(
        [*command, str(file)], capture_output=True, text=True, timeout=280, cwd=folder
    )
    assert report.exists(), done.stderr[-3000:]
    found: list[dict[str, object]] = json.loads(report.read_text())["diagnoses"]
    assert found or done.returncode == 0, done.stderr[-3000:]
    return found


def fault_line(file: Path) -> int:
    """The line of a program that is marked as its fault."""
    lines = file.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# fault"))


@pytest.mark.parametrize("name", sorted(p.stem for p in PROGRAMS.glob("*_healthy.py")))
def test_nothing_is_reported_of_a_healthy_program(name: str, tmp_path: Path) -> None:
    assert findings(program(name), tmp_path) == []


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_the_cause_and_the_line_of_a_broken_one(name: str, tmp_path: Path) -> None:
    file = program(name)
    [found] = findings(file, tmp_path)
    assert found["category"] == CAUSES[name]
    fix = found["fix"]
    assert isinstance(fix, dict)
    assert (fix["file"], fix["line"]) == (str(file), fault_line(file))
