"""Fixes as edits of a text: before and after, character by character (see edits.txt)."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retrograd.diagnostics.report import FIX_KINDS, Fix, Place, Span
from retrograd.doctor import fixes
from retrograd.doctor.fixes import at_call
from retrograd.doctor.fixes.edits import FORMS, edited
from retrograd.doctor.fixes.text import CannotWrite, Draft
from retrograd.doctor.model import Diagnosis


class Case(NamedTuple):
    name: str
    kind: str
    tensor: str
    facts: dict[str, Any]
    before: str
    marks: dict[str, int]  # ">" the line of the fix; "f", "e", "!", "c": further lines
    after: str | None  # None: it must refuse


def without_marks(text: str) -> tuple[str, dict[str, int]]:
    """The text without its first two columns, and the lines of the marks in them."""
    lines, marks = [], {}
    for number, line in enumerate(text.strip("\n").split("\n"), 1):
        for mark in line[:2].strip():
            marks[mark] = number
        lines.append(line[2:])
    return "\n".join(lines) + "\n", marks


def read_cases() -> list[Case]:
    found = []
    for block in Path(__file__).with_name("edits.txt").read_text().split("\n=== ")[1:]:
        head, _, body = block.partition("\n")
        before, _, after = body.partition("\n---\n")
        parts = [part.strip() for part in head.split("|")] + ["", ""]
        facts = dict(fact.split("=") for fact in parts[3].split(", ") if fact)
        text, marks = without_marks(before)
        result = None if after.strip() == "refuse" else without_marks(after)[0]
        found.append(Case(*parts[:3], facts, text, marks, result))
    return found


CASES = read_cases()
WRITTEN = [case for case in CASES if case.after is not None]


def fix_of(case: Case) -> tuple[Fix, Diagnosis]:
    marks, facts = case.marks, dict(case.facts)
    fix = Fix(case.kind.split()[0], Place("train.py", marks[">"]))
    cause = facts.pop("cause", "stale-state-carried")
    if "together" in facts:
        facts["together"] = facts["together"].split("+")
    if "names" in facts:
        facts["names"] = facts["names"].split("+")
    if "arrays" in facts:
        *numbers, holds = facts["arrays"].split(":")
        facts["arrays"] = [[*map(int, numbers), holds]]
    facts |= {name: int(facts[name]) for name in ("loop", "sent") if name in facts}
    if "want" in facts:
        facts |= {"want": int(facts["want"]), "got": int(facts["got"])}
        facts["needs"] = [each == "1" for each in facts["needs"]]
    freed = marks.get("f", marks.get("!"))
    labels = [("s", "sent back"), ("b", "built")]
    spans = [Span(name, Place("train.py", marks[m])) for m, name in labels if m in marks]
    diagnosis = Diagnosis(
        cause=cause,
        error_line=Place("train.py", marks.get("e", marks[">"])),
        created_at=[Place("train.py", marks["c"])] if "c" in marks else [],
        freed_at=Place("train.py", freed) if freed else None,
        spans=spans,
        fixes=[fix],
        tensor=case.tensor,
        facts=facts,
    )
    return fix, diagnosis


def after(case: Case, text: str) -> str:
    """The text in the form that a case asks for, else in the first that can be written."""
    kind, _, name = case.kind.partition(" ")
    names = [writer.__name__ for writer in FORMS[kind]]
    for form in [names.index(name)] if name else range(len(names)):
        try:
            return edited(text, *fix_of(case), form)
        except CannotWrite:
            continue
    raise CannotWrite("in no form")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_edit(case: Case) -> None:
    ast.parse(case.before)
    if case.after is None:
        with pytest.raises(CannotWrite):
            after(case, case.before)
    else:
        assert after(case, case.before) == case.after


@pytest.mark.parametrize("case", WRITTEN, ids=[case.name for case in WRITTEN])
def test_line_endings_of_windows_stay(case: Case) -> None:
    assert case.after is not None
    assert after(case, case.before.replace("\n", "\r\n")) == case.after.replace("\n", "\r\n")


def test_every_form_of_every_kind_has_a_case() -> None:
    assert set(FORMS) == FIX_KINDS
    unused = {
        (kind, number)
        for kind, forms in FORMS.items()
        for number, form in enumerate(forms)
        if form.__module__ != at_call.__name__  # see test_at_call
    }
    for case in WRITTEN:
        kind = case.kind.split()[0]
        for form in range(len(FORMS[kind])):
            try:
                found = edited(case.before, *fix_of(case), form)
            except CannotWrite:
                continue
            if found == case.after:
                unused.discard((kind, form))
                break
    assert not unused


def test_bytes_of_the_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    head = "# -*- coding: latin-1 -*-\r\nname = 'Müller'\r\n".encode("latin-1")
    file.write_bytes(head + b"loss.backward()")
    fix = Fix("retain-graph", Place(str(file), 3))
    diagnosis = Diagnosis(cause="shared-subgraph", fixes=[fix])
    fixes.propose(diagnosis)
    edit = fixes.edit_of(fix)
    assert edit is not None
    assert edit.after == head + b"loss.backward(retain_graph=True)"
    assert file.read_bytes() == edit.before


def test_byte_order_mark_stays(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_bytes(b"\xef\xbb\xbfloss.backward()\n")
    fix = Fix("reduce-loss", Place(str(file), 1))
    fixes.propose(Diagnosis(cause="non-scalar", fixes=[fix]))
    edit = fixes.edit_of(fix)
    assert edit is not None
    assert edit.after == b"\xef\xbb\xbfloss.mean().backward()\n"


def test_diff_is_small_and_shows_the_line(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    lines = [f"a{i} = {i}" for i in range(20)]
    lines[10] = "loss.backward()"
    file.write_text("\n".join(lines) + "\n")
    fix = Fix("retain-graph", Place(str(file), 11))
    fixes.propose(Diagnosis(cause="shared-subgraph", fixes=[fix]))
    body = fix.diff.splitlines()
    assert body[0].startswith("--- a/") and body[1].startswith("+++ b/")
    assert body[2] == "@@ -9,5 +9,5 @@"
    assert body[5:7] == ["-loss.backward()", "+loss.backward(retain_graph=True)"]
    assert len(body) == 9


def test_file_that_is_gone_gets_no_diff(tmp_path: Path) -> None:
    fix = Fix("retain-graph", Place(str(tmp_path / "none.py"), 1))
    fixes.propose(Diagnosis(cause="shared-subgraph", fixes=[fix]))
    assert fix.diff == "" and fixes.edit_of(fix) is None


def test_changes_that_meet_are_refused() -> None:
    draft = Draft("a = b\n")
    draft.replace(0, 3, "x")
    draft.replace(2, 5, "y")
    with pytest.raises(CannotWrite):
        draft.result()


def test_a_result_that_is_no_program_is_refused() -> None:
    draft = Draft("a = b\n")
    draft.replace(0, 1, "a b")
    with pytest.raises(CannotWrite):
        draft.result()


MIXED = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size, *, depth=2):
        super().__init__()
        self.layers, self.memory = [nn.Linear(size, size)], None
        self.gain = nn.Parameter(torch.ones(1)).to("cpu"); self.bias = 0

    @torch.no_grad()
    def update(self, h, c=None):
        if c is None: c = h
        self.memory = h if self.memory is None else 0.9 * self.memory + 0.1 * h
        return h.detach(), c

    async def later(self, x): return [y async for y in x]


def train(model, data, opt, total=0.0, **options):
    losses, h = [], None
    with torch.no_grad(), open("f") as file:
        h = file.read()
    for i, (x, y) in enumerate(data):
        opt.zero_grad(); out = model(x, *losses)
        h, c = model.update(out)
        loss = (lambda a: a.sum())(out) * (
            1 + i  # weight
        )
        x[0] += 1; out.relu_()
        losses.append(loss); total += loss
        if (n := len(losses)) > 2:
            loss.backward(retain_graph=True, **options)
            opt.step()
        else: torch.autograd.grad(loss, [x])
        try:
            torch.tensor(losses).mean().backward()
        except RuntimeError as error:
            print(f"{error} {h} {total.item()}")
        finally:
            del out
    return total, losses
"""


@pytest.mark.parametrize("kind", sorted(FIX_KINDS))
def test_any_line_gives_an_edit_or_a_refusal(kind: str) -> None:
    before, tensors = MIXED.splitlines(), ("h", "losses[0]", "model.memory", "total")
    for line in range(1, len(before) + 1):
        place = Place("train.py", line)
        diagnosis = Diagnosis(
            cause="accumulated-history",
            error_line=Place("train.py", len(before) - line + 1),
            created_at=[place],
            freed_at=Place("train.py", 34),
            tensor=tensors[line % 4],
            facts={"container": "list", "loop": 23},
        )
        for form in range(len(FORMS[kind])):
            try:
                changed = edited(MIXED, Fix(kind, place), diagnosis, form).splitlines()
            except CannotWrite:
                continue
            assert len(set(before) - set(changed)) <= 4, (line, changed)
