"""Every case in `cases/` fails with the code in its name, and with exactly the report beside it.

To accept new texts after reading them: `UPDATE_REPORTS=1 pytest tests/diagnostics/test_reports.py`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from retrograd.diagnostics.errors import RetrogradError
from retrograd.diagnostics.render import render

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


@pytest.fixture(scope="module")
def tiny() -> Any:
    path = Path(__file__).parent / "tiny.py"
    spec = importlib.util.spec_from_file_location("tests_diagnostics_tiny", path)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def fail(path: Path, tiny: Any) -> RetrogradError:
    """Run a case, whose `import retrograd` gets the engine without numbers."""
    tiny.restart()
    code = compile(path.read_text(), str(path), "exec")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(RetrogradError) as caught:
        patch.setitem(sys.modules, "retrograd", tiny)
        exec(code, {})
    return caught.value


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_report(path: Path, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    error = fail(path, tiny)
    assert error.code == path.stem.split("_")[0]
    assert error.report is not None
    text = render(error.report, width=100) + "\n"
    expected = path.with_suffix(".txt")
    if os.environ.get("UPDATE_REPORTS"):
        expected.write_text(text)
    assert text == expected.read_text()
    assert not any(line != line.rstrip() for line in text.splitlines())
    narrow = render(error.report, width=60)
    assert max(map(len, narrow.splitlines())) <= 60 or error.report.helps
    assert error.__notes__ == ["\n" + text.rstrip("\n")]


REASONS = {
    "RG101_carried_state": "carried-state",
    "RG101_carried_state_no_loop": "carried-state",
    "RG101_carried_over_sequences": "carried-state",
    "RG101_carried_state_made_last": "carried-state",
    "RG101_running_total": "carried-state",
    "RG101_built_outside_loop": "built-outside-loop",
    "RG101_built_outside_same_network": "built-outside-loop",
    "RG101_same_loss_twice": "same-loss-twice",
    "RG101_same_loss_in_loop": "same-loss-twice",
    "RG101_shared_trunk": "shared-trunk",
    "RG101_one_result_two_losses": "one-result-two-losses",
    "RG101_freed_by_grad": "freed-by-grad",
    "RG101_undecided": None,
    "RG102_in_place_write": "in-place-write",
    "RG102_optimizer_step": "optimizer-step",
    "RG102_carried_state": "carried-state",
    "RG103_detach": "detach",
    "RG103_no_grad": "no-grad",
    "RG103_never_connected": None,
    "RG105_leaf_modified": None,
}


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_reason(path: Path, tiny: Any) -> None:
    assert fail(path, tiny).reason == REASONS[path.stem]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_reason_with_the_real_engine(path: Path) -> None:
    """The facts of real nodes and calls lead to the same reason and the same lines."""
    with pytest.raises(RetrogradError) as caught:
        exec(compile(path.read_text(), str(path), "exec"), {})
    error = caught.value
    assert (error.code, error.reason) == (path.stem.split("_")[0], REASONS[path.stem])
    lines = [int(line[:3]) for line in path.with_suffix(".txt").read_text().splitlines()
             if line[:2].strip().isdigit()]  # fmt: skip
    assert list(dict.fromkeys(span.location.line for span in error.spans)) == list(
        dict.fromkeys(lines)
    )
