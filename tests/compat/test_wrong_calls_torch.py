"""A part of the wrong calls of `tests.compat.wrong_calls`; the floors may only go up."""

from __future__ import annotations

from collections import Counter

import pytest

from retrograd import core
from tests.compat.wrong_calls.__main__ import compared
from tests.compat.wrong_calls.functions import functions
from tests.compat.wrong_calls.outcomes import Comparison, Outcome

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not core.AVAILABLE, reason="the core asks the signatures"),
]

SAME_TYPE = 0.975
SAME_LINE = 0.91


@pytest.fixture(scope="module")
def found() -> list[Comparison]:
    given = compared(functions()[::12], 0.06)
    return [row for row in given if isinstance(row, Comparison)]


def test_types_and_first_lines_are_those_of_torch(found):
    counts = Counter(row.verdict for row in found)
    refused = sum(bool(row.theirs.kind) for row in found)
    assert refused > 500
    assert counts["same"] / refused >= SAME_LINE, counts
    assert (counts["same"] + counts["other words"]) / refused >= SAME_TYPE, counts


def test_no_message_names_the_inside(found):
    assert not [(row.call, row.ours) for row in found if row.leaks]


def test_a_message_that_names_the_inside_is_noticed():
    def row(line: str) -> Comparison:
        theirs = Outcome("TypeError", "f(): argument 'input' (position 1) must be Tensor, not list")
        return Comparison("torch", "f", "torch.f([1])", theirs, Outcome("AttributeError", line))

    assert row("'list' object has no attribute '_array'").leaks
    assert row("ufunc 'add' did not contain a loop").leaks
    assert not row("f(): argument 'input' must be Tensor, not list").leaks
