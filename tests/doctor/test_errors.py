"""The doctor's answers to autograd errors other than a second backward, on real programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retrograd.doctor import fixes
from retrograd.doctor.fixes.verify import Request, verify_all
from retrograd.doctor.supervisor import Order, watch
from tests.doctor.error_scenarios import SCENARIOS, Scenario
from tests.doctor.error_scenarios_calls import CALLS, OTHERS, TRIED
from tests.doctor.error_scenarios_functions import FUNCTIONS
from tests.doctor.error_scenarios_more import MORE
from tests.doctor.error_scenarios_rest import QUIET, REST
from tests.limits import LIMIT

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ALL = SCENARIOS + MORE + REST + FUNCTIONS + CALLS
ROOT = Path(__file__).resolve().parents[2]


def _run(folder: Path, programs: dict[str, str]) -> dict[str, Any]:
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.doctor.run_scenarios", os.fspath(folder)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["name"]: result for result in results}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("wrong")
    return _run(folder, {scenario.name: scenario.program for scenario in ALL})


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("repaired")
    return _run(folder, {scenario.name: scenario.repaired for scenario in ALL if scenario.repair})


def _lines(scenario: Scenario, word: str) -> list[int]:
    lines = enumerate(scenario.program.splitlines(), 1)
    return [number for number, text in lines if word in text.partition("  # ")[2].split()]


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
def test_names_the_cause_and_its_lines(scenario: Scenario, answers: dict[str, Any]) -> None:
    answer = answers[scenario.name]
    assert len(answer["found"]) == 1, answer
    found = answer["found"][0]
    assert found["category"] == scenario.cause
    errors = _lines(scenario, "error")
    assert (found["error_line"]["line"] in errors) or not errors
    assert (found["fix"]["kind"], found["fix"]["line"]) == (
        scenario.fix,
        _lines(scenario, "fix")[0],
    )
    made = {place["line"] for place in found["created_at"]}
    assert set(_lines(scenario, "made")) <= made
    assert answer["unseen"] == []


@pytest.mark.parametrize(
    "scenario", [each for each in ALL if each.repair], ids=lambda scenario: scenario.name
)
def test_is_silent_about_the_repaired_program(scenario: Scenario, repaired: dict[str, Any]) -> None:
    answer = repaired[scenario.name]
    assert answer["error"] == ""
    assert answer["found"] == []


def test_is_silent_about_other_errors(tmp_path: Path) -> None:
    answers = _run(tmp_path, QUIET | OTHERS)
    assert sorted(answers) == sorted(QUIET | OTHERS)
    assert [name for name, answer in answers.items() if answer["found"]] == []


@pytest.mark.parametrize("name", TRIED)
def test_the_fix_is_tried(name: str, tmp_path: Path) -> None:
    scenario = next(each for each in CALLS if each.name == name)
    script = os.fspath(tmp_path / "program.py")
    Path(script).write_text(scenario.program)
    result, _ = watch(Order(script, engine="torch"))
    fixes.propose_all(result.diagnoses)
    (diagnosis,) = result.diagnoses
    verify_all([diagnosis], Request(script, engine="torch", forced=True, first=result))
    fix = diagnosis.fixes[0]
    assert (fix.kind, fix.verified) == (scenario.fix, True), fix.verification
    assert fix.diff
