"""The public labelled programs under `retrograd doctor --json`, on PyTorch and on retrograd."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.doctor.patches import repaired

FOLDER = Path(__file__).parent / "public"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())["cases"]
ROOT = Path(__file__).parents[2]

ENGINES = [pytest.param("torch", marks=pytest.mark.torch), "retrograd"]
SCRIPTS = [pytest.param(case, case["script"], id=case["slug"]) for case in CASES]
FIXED = [
    pytest.param(case["fixed"], id=case["slug"]) for case in CASES if case["fixed"] is not None
]


def examine(script: Path, engine: str, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit status and the JSON report of the doctor."""
    if engine == "torch":
        pytest.importorskip("torch")
    out = folder / "report.json"
    command = ["-m", "retrograd", "doctor", "--no-verify", "--engine", engine]
    imported = forked.WITH_TORCH if engine == "torch" else forked.WITH_DOCTOR
    done = forked.python([*command, "--json", str(out), str(script)], ROOT, imported=imported)
    assert out.exists(), done.stderr
    return done.returncode, json.loads(out.read_text())


def line(place: dict[str, Any] | None) -> tuple[str, int] | None:
    """A place by its path in the folder of the cases."""
    if place is None:
        return None
    path = Path(place["file"])
    return str(path.relative_to(FOLDER) if path.is_absolute() else path), place["line"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("case", "script"), SCRIPTS)
def test_cause_lines_and_fix(
    case: dict[str, Any], script: str, engine: str, tmp_path: Path
) -> None:
    status, report = examine(FOLDER / script, engine, tmp_path)
    assert report["engine"] == engine
    if case["category"] == "healthy":
        assert (status, report["status"], report["diagnoses"]) == (0, "healthy", [])
        return
    assert (status, report["status"]) == (1, "diagnosed"), report
    found = report["diagnoses"][0]
    assert found["category"] in [case["category"], *case["category_also"]]
    if case["error"] != "silent":
        assert line(found["error_line"]) == line(case["error_line"])
    if case["freed_at"] is not None:
        freed = [line(place) for place in [case["freed_at"], *case["freed_also"]]]
        assert line(found["freed_at"]) in freed
    made = {line(place) for place in found["created_at"]}
    assert made & {line(place) for place in [*case["culprit"], *case["culprit_also"]]}
    accepted = [(fix["kind"], line(place)) for fix in case["fixes"] for place in fix["lines"]]
    assert (found["fix"]["kind"], line(found["fix"])) in accepted


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("repair", FIXED)
def test_repaired_programs_are_healthy(repair: str, engine: str, tmp_path: Path) -> None:
    status, report = examine(repaired(FOLDER / repair), engine, tmp_path)
    assert (status, report["diagnoses"]) == (0, [])
