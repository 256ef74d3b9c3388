"""Trials of fixes: the overlay, the judgement, the order, and whole trials on PyTorch."""

from __future__ import annotations

import importlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor import fixes
from retrograd.doctor.fixes.overlay import lay_over
from retrograd.doctor.fixes.verify import PERMIT, Outcome, Request, judge, run_trial, verify_all
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.result import Result
from retrograd.watching import source

# --------------------------------------------------------------------------------- overlay


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.syspath_prepend(os.fspath(tmp_path))
    monkeypatch.setattr(source, "overlaid", {})
    yield tmp_path
    source.forget()


def test_overlaid_module_is_imported_and_the_file_stays(clean: Path) -> None:
    file = clean / "overlaid_module_one.py"
    file.write_text("value = 1\n")
    importlib.import_module("overlaid_module_one")  # leaves a compiled file behind
    del sys.modules["overlaid_module_one"]
    lay_over({os.fspath(file): b"value = 2\n"})
    module = importlib.import_module("overlaid_module_one")
    assert module.value == 2
    assert module.__file__ == os.fspath(file)
    assert file.read_text() == "value = 1\n"
    del sys.modules["overlaid_module_one"]


def test_other_modules_are_left_alone(clean: Path) -> None:
    (clean / "overlaid_module_two.py").write_text("value = 1\n")
    lay_over({os.fspath(clean / "overlaid_module_three.py"): b"value = 2\n"})
    module = importlib.import_module("overlaid_module_two")
    assert module.value == 1
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    del sys.modules["overlaid_module_two"]


def test_rules_see_the_overlaid_text(clean: Path) -> None:
    file = clean / "train.py"
    file.write_text("a = 1\n")
    assert source.text_at(os.fspath(file), 1) == "a = 1"
    lay_over({os.fspath(file): b"b = 2\n"})
    assert source.text_at(os.fspath(file), 1) == "b = 2"


# ------------------------------------------------------------------------------- judgement


def diagnosis_of(cause: str = "stale-state-carried", *found: Fix) -> Diagnosis:
    return Diagnosis(cause=cause, error_line=Place("train.py", 3), fixes=list(found))


def verdict(
    outcome: dict[str, Any],
    first: dict[str, Any],
    cause: str = "stale-state-carried",
    kind: str = "detach",
    stopped: str = "",
    finite: bool = True,
) -> str:
    fix = Fix(kind, Place("train.py", 3))
    diagnosis = diagnosis_of(cause, fix)
    found = Outcome(Result(**outcome), stopped, finite)
    return judge(found, diagnosis, fix, [diagnosis], Request("train.py", first=Result(**first)))


FAILED: dict[str, Any] = {
    "error": "RuntimeError: Trying to backward through the graph a second time",
    "status": 1,
    "calls": 2,
    "gradients": [[True, False]],
}
GOOD: dict[str, Any] = {"calls": 10, "gradients": [[True, True]]}


def test_a_run_that_ends_well_is_accepted() -> None:
    assert verdict(GOOD, FAILED) == ""


def test_the_same_error_is_not() -> None:
    assert verdict(FAILED, FAILED) == "the same error comes back"


def test_another_error_is_named() -> None:
    other = {**FAILED, "error": "AttributeError: 'tuple' object has no attribute 'detach'"}
    assert "AttributeError" in verdict(other, FAILED)


def test_lost_gradients_are_counted() -> None:
    starved = {**GOOD, "gradients": [[False, True]]}
    assert verdict(starved, FAILED) == "1 parameter would no longer get a gradient"


def test_parameters_in_another_order_are_only_counted() -> None:
    turned = {**GOOD, "gradients": [[False, True]]}
    assert verdict(turned, FAILED, kind="register-modules") == ""
    none = {**GOOD, "gradients": [[False, False]]}
    assert verdict(none, FAILED, kind="register-modules") == "parameters lose their gradient"


def test_a_missing_optimizer_counts_as_lost() -> None:
    assert "no longer" in verdict({**GOOD, "gradients": []}, FAILED)


def test_a_new_report_is_named() -> None:
    reported = {**GOOD, "diagnoses": [diagnosis_of("broken-graph")]}
    assert verdict(reported, FAILED) == "then there is broken-graph"


def test_a_retain_that_only_the_mistake_needed_is_no_reproach() -> None:
    reported = {**GOOD, "diagnoses": [diagnosis_of("needless-retain")]}
    assert verdict(reported, FAILED) == ""
    assert verdict(reported, FAILED, kind="retain-graph") == "then there is needless-retain"


def test_the_same_report_is_recognised() -> None:
    silent = {**GOOD, "diagnoses": [diagnosis_of("accumulated-history")]}
    assert verdict(silent, GOOD, "accumulated-history") == "the same report comes back"


def test_another_finding_of_the_first_run_may_stay() -> None:
    fix = Fix("drop-retain", Place("train.py", 3))
    mine, other = diagnosis_of("needless-retain", fix), diagnosis_of("zero-grad-misuse")
    found = Outcome(Result(**{**GOOD, "diagnoses": [other]}), "", True)
    request = Request("train.py", first=Result(**GOOD))
    assert judge(found, mine, fix, [mine, other], request) == ""


def test_losses_must_be_finite() -> None:
    assert verdict(GOOD, FAILED, finite=False) == "a loss is not finite"


def test_a_cut_is_mended_only_if_parameters_get_gradients() -> None:
    first = {**GOOD, "gradients": [[True, False]]}
    assert verdict(first, first, "broken-graph", "keep-graph") != ""
    assert verdict(GOOD, first, "broken-graph", "keep-graph") == ""


def test_status_must_be_that_of_the_first_run() -> None:
    assert "status 3" in verdict({**GOOD, "status": 3}, GOOD)
    assert "status 3" in verdict({**GOOD, "status": 3}, FAILED)
    assert verdict({**GOOD, "status": 3}, {**GOOD, "status": 3}) == ""


def test_a_trial_that_was_stopped_counts_if_it_came_far() -> None:
    assert verdict(GOOD, FAILED, stopped="its time was up") == ""
    assert verdict({**GOOD, "calls": 3}, FAILED, stopped="its time was up").startswith("?")


# -------------------------------------------------------------------- what is tried, in order


def proposed(folder: Path, *kinds: str) -> Diagnosis:
    file = folder / "train.py"
    file.write_text("loss.backward()\n")
    found = [Fix(kind, Place(os.fspath(file), 1)) for kind in kinds]
    diagnosis = diagnosis_of("shared-subgraph", *found)
    fixes.propose(diagnosis)
    return diagnosis


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (Result(effects=["it read its standard input"]), "the program read its standard input"),
        (Result(effects=["it wrote log.csv"]), "the program wrote log.csv"),
        (Result(seconds=900.0), "the program ran for 900 s"),
    ],
)
def test_not_tried_without_being_asked(tmp_path: Path, first: Result, reason: str) -> None:
    diagnosis = proposed(tmp_path, "retain-graph")
    verify_all([diagnosis], Request("train.py", first=first))
    assert diagnosis.fixes[0].verified is None
    assert diagnosis.fixes[0].verification == f"not tried: {reason}{PERMIT}"
    assert diagnosis.fixes[0].diff


def test_asked_for_it_is_tried_in_spite_of_effects() -> None:
    first = Result(effects=["it wrote log.csv"])
    assert Request("train.py", forced=True, first=first).reason_against() == ""


def answers(monkeypatch: pytest.MonkeyPatch, **by_text: Outcome | str) -> list[str]:
    """Trials that answer by what the edited text holds; the result lists what was tried."""
    tried: list[str] = []

    def run(edit: Any, request: Request) -> Outcome | str:
        text = edit.after.decode()
        tried.append(text)
        return next(answer for word, answer in by_text.items() if word in text)

    monkeypatch.setattr("retrograd.doctor.fixes.verify.run_trial", run)
    return tried


def test_a_proven_fix_comes_first_and_the_failed_one_last_without_its_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = proposed(tmp_path, "reduce-loss", "retain-graph", "detach")
    answers(
        monkeypatch,
        mean=Outcome(Result(**FAILED), "", True),
        retain_graph=Outcome(Result(**GOOD), "", True),
    )
    verify_all([diagnosis], Request("train.py", first=Result(**FAILED)))
    assert [fix.kind for fix in diagnosis.fixes] == ["retain-graph", "detach", "reduce-loss"]
    assert [fix.verified for fix in diagnosis.fixes] == [True, None, False]
    assert diagnosis.fixes[0].diff and not diagnosis.fixes[2].diff
    assert diagnosis.fixes[2].verification == "the same error comes back"


def test_keeping_the_graph_proves_little_while_a_better_fix_was_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = proposed(tmp_path, "detach", "retain-graph")
    answers(monkeypatch, retain_graph=Outcome(Result(**GOOD), "", True))
    verify_all([diagnosis], Request("train.py", first=Result(**FAILED)))
    assert [fix.kind for fix in diagnosis.fixes] == ["detach", "retain-graph"]
    assert [fix.verified for fix in diagnosis.fixes] == [None, True]


def test_nothing_proven_is_said_and_what_failed_is_not_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = proposed(tmp_path, "reduce-loss", "retain-graph")
    answers(
        monkeypatch,
        mean=Outcome(Result(**FAILED), "", True),
        retain_graph="it took too long",
    )
    verify_all([diagnosis], Request("train.py", first=Result(**FAILED)))
    assert [fix.kind for fix in diagnosis.fixes] == ["retain-graph", "reduce-loss"]
    assert [fix.verified for fix in diagnosis.fixes] == [None, False]
    assert diagnosis.fixes[0].verification == "not tried to the end: it took too long"
    assert any("proven" in note for note in diagnosis.notes)


def test_at_most_four_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["reduce-loss", "retain-graph", "create-graph"]
    several = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        several.append(proposed(folder, *kinds))
    tried = answers(monkeypatch, backward=Outcome(Result(**FAILED), "", True))
    verify_all(several, Request("train.py", first=Result(**FAILED)))
    assert len(tried) == 4
    assert sum("mean" in text for text in tried) == 3  # the first of each comes first


# ----------------------------------------------------------------------------------- apply


def test_apply_keeps_the_old_text_and_the_mode(tmp_path: Path) -> None:
    diagnosis = proposed(tmp_path, "retain-graph")
    file = tmp_path / "train.py"
    file.chmod(0o750)
    backup = fixes.apply(diagnosis.fixes[0])
    assert backup == tmp_path / "train.py.orig"
    assert backup.read_text() == "loss.backward()\n"
    assert file.read_text() == "loss.backward(retain_graph=True)\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py", "train.py.orig"]


def test_apply_never_writes_over_a_copy(tmp_path: Path) -> None:
    diagnosis = proposed(tmp_path, "retain-graph")
    (tmp_path / "train.py.orig").write_text("mine")
    assert fixes.apply(diagnosis.fixes[0]).name == "train.py.orig.1"
    assert (tmp_path / "train.py.orig").read_text() == "mine"


def test_apply_refuses_a_file_that_has_changed(tmp_path: Path) -> None:
    diagnosis = proposed(tmp_path, "retain-graph")
    (tmp_path / "train.py").write_text("other()\n")
    with pytest.raises(fixes.CannotApply, match="has changed since"):
        fixes.apply(diagnosis.fixes[0])
    assert (tmp_path / "train.py").read_text() == "other()\n"
    assert not (tmp_path / "train.py.orig").exists()


def test_apply_needs_an_edit() -> None:
    with pytest.raises(fixes.CannotApply, match="could not be written"):
        fixes.apply(Fix("detach", Place("none.py", 1)))


def test_offer_asks_and_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal:
        def __init__(self, answer: str) -> None:
            self.answer = answer

        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return self.answer

    diagnosis, file = proposed(tmp_path, "retain-graph"), tmp_path / "train.py"
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    assert not fixes.offer(diagnosis.fixes[0])
    assert "nothing was changed" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert fixes.offer(diagnosis.fixes[0])
    assert "train.py.orig" in capsys.readouterr().err
    assert "retain_graph=True" in file.read_text()


def test_offer_without_a_terminal_needs_yes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = proposed(tmp_path, "retain-graph")
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert not fixes.offer(diagnosis.fixes[0])
        assert "--yes" in capsys.readouterr().err
        assert fixes.offer(diagnosis.fixes[0], yes=True)


# --------------------------------------------------------------------------- whole trials


CARRIED = """\
import torch
from helper import Cell

torch.manual_seed(0)
cell = Cell(int(open("size.txt").read()))
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(2, 4)
for step in range(6):
    opt.zero_grad()
    h = cell(torch.ones(2, 4), h)
    h.pow(2).mean().backward()
    opt.step()
{end}
"""

HELPER = """\
import torch


class Cell(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = torch.nn.Linear(2 * size, size)

    def forward(self, x, h):
        return torch.tanh(self.inner(torch.cat([x, h], 1)))
"""


def program(folder: Path, end: str = "") -> Request:
    (folder / "train.py").write_text(CARRIED.format(end=end))
    (folder / "helper.py").write_text(HELPER)
    (folder / "size.txt").write_text("4")
    script = os.fspath(folder / "train.py")
    first = {**FAILED, "gradients": [[True, True]]}
    return Request(script, first=Result(**first, seconds=1.0))


def written(folder: Path, kind: str, file: str, line: int, tensor: str) -> Diagnosis:
    fix = Fix(kind, Place(os.fspath(folder / file), line))
    diagnosis = diagnosis_of("stale-state-carried", fix)
    diagnosis.tensor = tensor
    fixes.propose(diagnosis)
    assert fix.diff
    return diagnosis


@pytest.mark.torch
def test_trial_of_a_good_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Request, "seconds", 600.0)
    request = program(tmp_path, 'torch.save(cell.state_dict(), "/nowhere/model.pt")')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    diagnosis = written(tmp_path, "detach", "train.py", 10, "h")
    edit = fixes.edit_of(diagnosis.fixes[0])
    assert edit is not None
    found = run_trial(edit, request)
    assert isinstance(found, Outcome)
    assert found.stopped == "it wrote model.pt"  # before it was written
    assert found.result.calls == 6
    assert found.result.gradients == [[True, True]]
    assert found.finite
    assert judge(found, diagnosis, diagnosis.fixes[0], [diagnosis], request) == ""
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert after == before


@pytest.mark.torch
def test_trial_of_an_edited_module_that_stops_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    request = program(tmp_path)
    diagnosis = written(tmp_path, "detach", "helper.py", 10, "out")
    verify_all([diagnosis], request)
    assert diagnosis.fixes[0].verified is False
    assert "does not require grad" in diagnosis.fixes[0].verification
    assert diagnosis.fixes[0].diff == ""


@pytest.mark.torch
def test_trial_ends_when_its_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    request = program(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(script.read_text().replace("range(6)", "range(10**9)"))
    monkeypatch.setattr(Request, "seconds", 2.0)
    request.first.calls = -2  # one call is far enough: a slow machine may not come further
    diagnosis = written(tmp_path, "detach", "train.py", 10, "h")
    verify_all([diagnosis], request)
    assert diagnosis.fixes[0].verified, diagnosis.fixes[0].verification
    assert diagnosis.fixes[0].verification.startswith("ran for ")


def test_time_in_which_the_machine_ran_others_does_not_count() -> None:
    slow = Request("train.py", first=Result(seconds=90.0))
    assert slow.reason_against().startswith("the program ran for 90 s")
    assert not Request("train.py", first=Result(seconds=90.0, waited=50.0)).reason_against()
