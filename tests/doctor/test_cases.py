"""Programs that end with an autograd error, labelled by authors who did not know the rules."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.in_forks import examine

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each script"),
]

FOLDER = Path(__file__).parent / "cases"
CASES: list[dict[str, Any]] = [
    case
    for path in sorted(FOLDER.glob("cases*.json"))
    for case in json.loads(path.read_text())["cases"]
    if isinstance(case["error"], dict)
]

# The cause and the lines are right, the first fix is another than its author's.
OTHER_FIX = {
    "a05_td_value_of_last_step": "detach runs, and no longer trains the value of the state",
    "a26_first_order_maml_support_term": "create_graph makes it second order, which also runs",
}


@pytest.fixture(scope="module", autouse=True)
def torch_is_imported() -> None:
    pytest.importorskip("torch")


def place(found: dict[str, Any]) -> dict[str, Any]:
    return {"file": Path(found["file"]).relative_to(FOLDER).as_posix(), "line": found["line"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["slug"])
def test_cause_lines_and_fix(case: dict[str, Any]) -> None:
    result = examine(FOLDER / case["script"])
    assert result["found"], result
    first = result["found"][0]
    assert first["category"] in [case["category"], *case["category_also"]]
    assert place(first["error_line"]) == case["error_line"]
    if case["freed_at"] is not None:
        assert place(first["freed_at"]) in [case["freed_at"], *case["freed_also"]]
    culprits = [*case["culprit"], *case["culprit_also"]]
    assert any(place(made) in culprits for made in first["created_at"])
    fix = (first["fix"]["kind"], place(first["fix"]))
    accepted = [(each["kind"], line) for each in case["fixes"] for line in each["lines"]]
    assert (fix in accepted) == (case["slug"] not in OTHER_FIX), (fix, accepted)


EXAMPLES = Path(__file__).parents[2] / "examples"
# second_backward.py imports retrograd and shows the mistake; cartpole.py is a module
HEALTHY = sorted({path.stem for path in EXAMPLES.glob("*.py")} - {"second_backward", "cartpole"})


@pytest.mark.parametrize("name", HEALTHY)
def test_examples_are_healthy(name: str) -> None:
    result = examine(EXAMPLES / f"{name}.py")
    assert (result["error"], result["found"]) == ("", [])
