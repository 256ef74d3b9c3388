"""Edits in the line of a caller, where the line of the fix lies in a function that it calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import fixes
from retrograd.doctor.fixes import at_call
from retrograd.doctor.fixes.edits import all_edits
from retrograd.doctor.model import Diagnosis
from retrograd.watching import source

HELPERS = {
    "an argument that is read under another name": (
        "detach",
        "fake",
        """\
def judge(real, images):
    return loss(critic(images))  # inner

fake = generator(z)
value = judge(x, fake)  # caller
""",
        "value = judge(x, fake.detach())  # caller",
    ),
    "an argument by keyword": (
        "detach",
        "state",
        """\
def step(x, h=None):
    return cell(x, h)  # inner

for x in data:
    state = step(x, h=state)  # caller
""",
        "    state = step(x, h=state.detach())  # caller",
    ),
    "an argument of a module": (
        "detach",
        "model.memory",
        """\
class Model:
    def forward(self, x, past):
        return self.mix(x + past)  # inner

out = model(x, model.memory)  # caller
""",
        "out = model(x, model.memory.detach())  # caller",
    ),
    "a copy for a function that writes": (
        "clone-before-inplace",
        "x",
        """\
def scale(x):
    return torch.mul(x, 2, out=x)  # inner

y = scale(features)  # caller
""",
        "y = scale(features.clone())  # caller",
    ),
    "a copy where nobody takes the result": (
        "clone-before-inplace",
        "x",
        """\
def scale(x):
    fill(x)  # inner

scale(features)  # caller
""",
        "features = features.clone()\nscale(features)  # caller",
    ),
}


def marked(text: str, word: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {word}"))


@pytest.mark.parametrize("name", HELPERS)
def test_the_argument_is_changed_for_this_caller(name: str, tmp_path: Path) -> None:
    kind, value, text, line = HELPERS[name]
    file = tmp_path / "train.py"
    file.write_text(text)
    source.forget()
    way = [Place(str(file), marked(text, word)) for word in ("caller", "inner")]
    diagnosis = Diagnosis(cause="stale-state-carried", ways=[way], tensor=value)
    edits = list(all_edits(Fix(kind, way[1]), diagnosis))
    assert edits[-1].place == way[0]
    changed = edits[-1].after.decode()
    assert changed == text.replace(f"{text.splitlines()[way[0].line - 1]}", line)


def test_a_fix_that_is_written_at_its_caller_names_that_line(tmp_path: Path) -> None:
    text = HELPERS["a copy where nobody takes the result"][2]
    file = tmp_path / "train.py"
    file.write_text(text)
    source.forget()
    way = [Place(str(file), marked(text, word)) for word in ("caller", "inner")]
    fix = Fix("clone-before-inplace", way[1])
    fixes.propose(Diagnosis(cause="inplace-after-save", ways=[way], fixes=[fix], tensor="x"))
    assert fix.place == way[0] and "+features = features.clone()\n" in fix.diff


KEEPING = """\
class Table:
    def set(self, ids, values):
        for i, v in zip(ids.tolist(), values):  # inner
            self.rows[i] = v

for ids in data:
    new = cell(table.get(ids))
    table.set(ids, new)  # caller
"""


def test_what_a_function_keeps_is_cut_where_it_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(KEEPING)
    source.forget()
    way = [Place(str(file), marked(KEEPING, word)) for word in ("caller", "inner")]
    fix = Fix("detach", way[0])
    fixes.propose(Diagnosis(cause="stale-state-carried", ways=[way], fixes=[fix], tensor="h"))
    assert "-            self.rows[i] = v\n+            self.rows[i] = v.detach()\n" in fix.diff
    assert fix.place.line == way[1].line + 1


RETURNED = """\
def propagate(h):
    for _ in range(2):
        h = tanh(h @ w)  # inner
    return h

def fit(model):
    smoothed = propagate(model.nodes)  # caller
    for epoch in range(9):  # loop
        loss = model(smoothed).mean()
        loss.backward()
"""


def test_what_a_function_returns_is_computed_again_by_its_caller(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(RETURNED)
    source.forget()
    way = [Place(str(file), marked(RETURNED, word)) for word in ("caller", "inner")]
    fix = Fix("recompute-forward", way[1])
    facts = {"loop": marked(RETURNED, "loop")}
    found = Diagnosis(cause="precomputed-outside-loop", ways=[way], fixes=[fix], facts=facts)
    fixes.propose(found)
    assert fix.place == way[0]
    assert "+        smoothed = propagate(model.nodes)  # caller\n         loss" in fix.diff


def two_calls(file: Path, text: str) -> tuple[Fix, Diagnosis]:
    file.write_text(text)
    source.forget()
    inner = Place(str(file), marked(text, "inner"))
    early, late = Place(str(file), marked(text, "early")), Place(str(file), marked(text, "late"))
    spans = [Span("freed", inner, [early, inner]), Span("used again", inner, [late, inner])]
    fix = Fix("combine-losses", inner)
    return fix, Diagnosis(
        cause="shared-subgraph", error_line=inner, freed_at=inner, spans=spans, fixes=[fix]
    )


SENDS = """\
def send(loss, scale):
    (loss * scale).backward()  # inner

send(f(z), 2)  # early
print("half")
send(g(z), 2)  # late
"""


def test_two_calls_of_a_helper_become_one(tmp_path: Path) -> None:
    fix, diagnosis = two_calls(tmp_path / "train.py", SENDS)
    (edit,) = all_edits(fix, diagnosis)
    assert edit.after.decode().splitlines()[3:] == ['print("half")', "send(f(z) + g(z), 2)  # late"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("send(g(z), 2)", "send(g(z), 3)"),
        ('print("half")', "opt.step()"),
        ("(f(z),", "(y := g(z),"),
    ],
)
def test_two_calls_that_cannot_be_one(old: str, new: str, tmp_path: Path) -> None:
    text = SENDS.replace(old, new).replace('print("half")', "y = 1")
    if "y :=" in text:
        text = text.replace("(y := g(z),", "(y,")
    fix, diagnosis = two_calls(tmp_path / "train.py", text)
    assert not list(all_edits(fix, diagnosis))


def test_a_loss_is_computed_after_the_helper_that_steps(tmp_path: Path) -> None:
    text = """\
def update(opt, loss):
    loss.backward()  # inner
    opt.step()

first = f(x)
second = g(x)
update(a, first)  # early
update(b, second)  # late
"""
    _, diagnosis = two_calls(tmp_path / "train.py", text)
    fix = Fix("recompute-forward", diagnosis.error_line or Place("?", 0))
    (edit,) = all_edits(fix, diagnosis)
    assert edit.after.decode().splitlines()[4:] == [
        "first = f(x)",
        "update(a, first)  # early",
        "second = g(x)",
        "update(b, second)  # late",
    ]


def test_the_callers_of_a_line_are_told_from_the_inside(tmp_path: Path) -> None:
    outer, middle, inner = (Place("train.py", line) for line in (30, 20, 10))
    diagnosis = Diagnosis(cause="shared-subgraph", ways=[[outer, middle, inner]])
    found = list(at_call.callers(Fix("detach", inner), diagnosis))
    assert found == [(middle, inner), (outer, middle)]
    found = list(at_call.callers(Fix("detach", middle), diagnosis))
    assert found == [(middle, inner), (outer, middle)]  # its own line may be that of a call
