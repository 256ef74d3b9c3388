"""Every case in `cases/` fails with the code in its name, and with exactly the report beside it.

To accept new texts after reading them: `UPDATE_REPORTS=1 pytest tests/diagnostics/test_reports.py`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from retrograd.diagnostics.render import render

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))

REASONS = {
    "RG101_built_outside_loop": "precomputed-outside-loop",
    "RG101_built_outside_same_network": "precomputed-outside-loop",
    "RG101_carried_over_sequences": "stale-state-carried",
    "RG101_carried_state": "stale-state-carried",
    "RG101_carried_state_made_last": "stale-state-carried",
    "RG101_carried_state_no_loop": "stale-state-carried",
    "RG101_freed_by_grad": "freed-by-grad-call",
    "RG101_interrupted": "interrupted",
    "RG101_one_result_two_losses": "shared-subgraph",
    "RG101_running_total": "accumulated-history",
    "RG101_same_loss_in_loop": "same-loss-twice",
    "RG101_same_loss_twice": "same-loss-twice",
    "RG101_shared_trunk": "shared-subgraph",
    "RG101_undecided": None,
    "RG102_carried_state": "stale-state-carried",
    "RG102_in_place_write": "inplace-after-save",
    "RG102_optimizer_step": "param-updated-before-backward",
    "RG103_detach": "broken-graph",
    "RG103_never_connected": None,
    "RG103_no_grad": "no-grad-scope",
    "RG105_leaf_modified": "leaf-inplace",
    "RG501_where_over_sqrt": None,
    "RG601_branch": "control-flow",
    "RG602_dropout": "not-chosen",
    "RG603_total": None,
    "RG604_sizes": "sizes",
    "RG606_not_scalar": "not-scalar",
    "RG607_tangent": "structure",
    "RG608_captured": "captured",
    "RG609_flag": "flag",
    "RG614_factor": "mismatch",
    "RG616_chosen_inputs": "chosen-inputs",
}


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_report(path: Path, run_program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.delenv("RETROGRAD_REPORT", raising=False)
    failure = run_program(path)
    error = failure.error
    assert (error.code, error.reason) == (path.stem.split("_")[0], REASONS[path.stem])
    text = render(failure.report, width=100) + "\n"
    expected = path.with_suffix(".txt")
    newer = path.with_suffix(".3.13.txt")  # there the place of a `with` is its expression
    if sys.version_info >= (3, 13) and newer.exists():
        expected = newer
    if os.environ.get("UPDATE_REPORTS"):
        expected.write_text(text)
    assert text == expected.read_text()
    assert not any(line != line.rstrip() for line in text.splitlines())
    narrow = render(failure.report, width=60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert error.__notes__ == ["\n" + render(error.report, width=100)]
