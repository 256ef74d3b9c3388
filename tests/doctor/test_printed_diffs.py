"""The diff of a report is the text that ran: applied to the program it gives just that."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from retrograd.doctor import fixes
from retrograd.doctor.fixes import verify
from retrograd.doctor.fixes.edits import FileEdit, diff_of
from retrograd.doctor.fixes.verify import Outcome, Request, verify_all
from retrograd.doctor.supervisor import Order, watch
from tests.doctor.test_fixes import WRITTEN, Case

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@\n")


def patched(text: str, diff: str) -> str:
    """The text after a unified diff, as `patch` reads it: only a line feed ends a line."""
    old, new, at = re.findall("[^\n]*\n|[^\n]+", text), "", 0
    lines = re.findall("[^\n]*\n", diff)
    assert [line[:4] for line in lines[:2]] == ["--- ", "+++ "]
    for line, following in zip(lines[2:], [*lines[3:], ""], strict=True):
        hunk = HUNK.fullmatch(line)
        body = line[1:-1] if following.startswith("\\") else line[1:]
        if hunk is not None:
            start = int(hunk[1]) - (hunk[2] != "0")
            new += "".join(old[at:start])
            at = start
        elif line[0] == "+":
            new += body
        elif line[0] != "\\":
            assert old[at] == body
            new += body if line[0] == " " else ""
            at += 1
    return new + "".join(old[at:])


@pytest.mark.parametrize("case", WRITTEN, ids=[case.name for case in WRITTEN])
def test_the_diff_gives_the_edited_text(case: Case) -> None:
    assert case.after is not None
    edit = FileEdit("train.py", case.before.encode(), case.after.encode())
    assert patched(case.before, diff_of(edit)) == case.after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\nb = 2", "a = 1\nb = 3"),  # no newline at the end
        ("a = 1\n\f\nb = 2\n", "a = 1\n\f\nb = 3\n"),
        ('a = "\u2028"\nb = 2\n', 'a = "\u2028"\nb = 3\n'),
        ("x\nx\nx\n", "x\nx\ny\n"),
    ],
)
def test_odd_texts(before: str, after: str) -> None:
    assert patched(before, diff_of(FileEdit("t.py", before.encode(), after.encode()))) == after


def test_a_line_that_moves_does_not_rewrite_those_between() -> None:
    before = b"".join(b"line_%d()\n" % number for number in range(12))
    lines = before.splitlines(keepends=True)
    after = b"".join([*lines[:2], *lines[3:10], lines[2], *lines[10:]])
    diff = diff_of(FileEdit("train.py", before, after))
    changed = [line for line in diff.splitlines()[2:] if line[0] in "+-"]
    assert changed == ["-line_2()", "+line_2()"]
    assert patched(before.decode(), diff) == after.decode()


# ------------------------------------------------------------------- what is tried and printed

LSTM = """\
import torch

torch.manual_seed(0)
cell = torch.nn.LSTMCell(3, 5)
head = torch.nn.Linear(5, 1)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)
h = torch.zeros(4, 5)
c = torch.zeros(4, 5)
for step in range(8):
    h, c = cell(torch.randn(4, 3), (h, c))
    loss = head(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.torch
def test_states_carried_together_are_cut_in_one_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial of the first cut fails by the second state: its own advice is taken in."""
    pytest.importorskip("torch")
    script = os.fspath(tmp_path / "program.py")
    Path(script).write_text(LSTM)
    result, _ = watch(Order(script, engine="torch"))
    fixes.propose_all(result.diagnoses)
    (diagnosis,) = result.diagnoses
    assert diagnosis.cause == "stale-state-carried"
    ran: list[bytes] = []
    real = verify.run_trial

    def noted(edit: FileEdit, request: Request) -> Outcome | str:
        ran.append(edit.after)
        return real(edit, request)

    monkeypatch.setattr(verify, "run_trial", noted)
    verify_all([diagnosis], Request(script, engine="torch", first=result))
    fix = diagnosis.fixes[0]
    assert fix.kind == "detach" and fix.verified, fix.verification
    assert "+    h, c = cell(torch.randn(4, 3), (h.detach(), c.detach()))\n" in fix.diff
    assert patched(LSTM, fix.diff).encode() in ran
