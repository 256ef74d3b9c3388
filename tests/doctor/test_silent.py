"""Faults without an error: each found by its cause, at its line; near misses get no report.

The programs in `silent/` name what is to be found where: a line with `# cause: kind of fix`.
Those without such a line are healthy.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from retrograd.diagnostics.catalogue import causes
from retrograd.diagnostics.report import FIX_KINDS
from tests.doctor.in_forks import examine
from tests.doctor.patches import healthy_script

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each script"),
]

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "silent").glob("*.py"))
CASES: list[dict[str, Any]] = [
    {**case, "folder": path.parent}
    for path in sorted((HERE / "cases").glob("cases*.json"))
    for case in json.loads(path.read_text())["cases"]
]
SILENT = [case for case in CASES if case["error"] == "silent"]
HEALTHY = [case for case in CASES if case["error"] == "healthy" or case["fixed"] is not None]
MARKER = re.compile(r"# ([a-z-]+): ([a-z-]+)$")

Expected = tuple[str, str, int]


@pytest.fixture(scope="module", autouse=True)
def torch_is_imported() -> None:
    pytest.importorskip("torch")


def expected_in(program: Path) -> list[Expected]:
    """What the comments of a program say: cause, kind of fix, line."""
    found = []
    for number, line in enumerate(program.read_text().splitlines(), 1):
        marker = MARKER.search(line)
        if marker is not None and marker[1] in causes():
            assert marker[2] in FIX_KINDS
            found.append((marker[1], marker[2], number))
    return sorted(found)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_fault_and_nothing_else(program: Path) -> None:
    result = examine(program)
    assert (result["error"], result["unseen"]) == ("", [])
    found = [
        (each["category"], each["fix"]["kind"], each["fix"]["line"]) for each in result["found"]
    ]
    assert sorted(found) == expected_in(program)


def test_every_cause_has_a_program() -> None:
    causes = {cause for program in PROGRAMS for cause, _, _ in expected_in(program)}
    assert causes == {
        *("accumulated-history", "needless-retain", "zero-grad-misuse", "broken-graph"),
        *("no-grad-scope", "stale-optimizer-params", "missing-create-graph", "nonleaf-grad"),
        *("same-loss-twice", "inplace-after-save", "repeated-hook", "clipped-before-unscale"),
        *("freeze-without-effect", "target-with-gradient", "optimizer-never-steps"),
        "nan-gradient",
        "stale-state-carried",
        *("clipped-after-step", "left-in-eval-mode", "average-of-views"),
        *("wrong-loss-input", "loss-broadcast", "stepped-before-unscale", "clip-without-effect"),
        *("tied-by-data", "optimizer-made-anew", "dropped-losses", "custom-function"),
    }


def place_in(folder: Path, place: dict[str, Any]) -> dict[str, Any]:
    return {"file": Path(place["file"]).relative_to(folder).as_posix(), "line": place["line"]}


@pytest.mark.slow
@pytest.mark.parametrize("case", SILENT, ids=lambda case: case["slug"])
def test_labelled_case(case: dict[str, Any]) -> None:
    folder = case["folder"]
    result = examine(folder / case["script"])
    assert result["found"], result
    first = result["found"][0]
    assert first["category"] in [case["category"], *case["category_also"]]
    created = [place_in(folder, place) for place in first["created_at"]]
    assert any(place in [*case["culprit"], *case["culprit_also"]] for place in created)
    fix = first["fix"]
    accepted = [(each["kind"], line) for each in case["fixes"] for line in each["lines"]]
    assert (fix["kind"], place_in(folder, fix)) in accepted


@pytest.mark.slow
@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case["slug"])
def test_healthy_and_repaired_programs_get_no_report(case: dict[str, Any]) -> None:
    script = healthy_script(case["folder"], case)
    assert script is not None and examine(script)["found"] == []
