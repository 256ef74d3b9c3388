"""A part of the wrong calls of `tests.compat.wrong_calls`; the floors may only go up."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

import retrograd
from retrograd import core
from tests.compat.wrong_calls.__main__ import compared
from tests.compat.wrong_calls.functions import functions
from tests.compat.wrong_calls.outcomes import Comparison, Outcome, outcome

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not core.AVAILABLE, reason="the core asks the signatures"),
]

SAME_TYPE = 0.985
SAME_LINE = 0.95


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


@pytest.mark.parametrize(
    "call",
    [
        "f(2, 3).unique(dim=0, return_inverse=9, return_counts=True)",
        "torch.nanmean(f(2, 3), dim=-1, keepdim=torch.tensor(True))",
        "torch.nanmean(f(2, 3), dtype=torch.int64)",
        "torch.nansum(f(2, 3), dtype=torch.complex64)",
        "torch.nansum(f(2, 3), np.ones(3))",
        "f(3, 4).norm(2, 0, 1)",
        "f(3, 4).norm(f(2, 3))",
        "f(5).norm(out=leaf(2, 3))",
        "f(5, 3).split(1, True)",
        "torch.tensordot(1.5, f(4, 3, 5), ([-2], [1]))",
        "f(20).stft(7, 3, window=f(7), onesided=torch.tensor(2), return_complex=True)",
        "torch.nn.functional.lp_pool2d(f(1, 2, 3, 4), 3.0, 2, 1, 1)",
        "torch.nn.functional.lp_pool3d(f(2, 2, 3, 4, 3), 1, (1.5, 2), 2)",
        "torch.nn.functional.grid_sample(f(1, 1, 1, 1), f(1, 2, 2, 2), align_corners=2)",
        "torch.nn.functional.interpolate(f(1, 2, 3), 5, mode='linear', align_corners=2)",
        "torch.nn.functional.interpolate(f(1, 2, 3), 5, mode=[1])",
        "torch.nn.functional.hardtanh(f(2, 3), 1, f(2, 3))",
        "torch.nn.functional.dropout(f(2, 3), f(2, 3))",
        "torch.nn.functional.dropout(f(2, 3), 0.5, 1)",
        "torch.nn.functional.triplet_margin_loss(f(4), f(4), f(4), margin=c(2, 3))",
        "torch.nn.functional.softmin(-7, dim=1)",
        "torch.nn.functional.poisson_nll_loss(f(3, 4), f(3, 4), reduction=2)",
        "torch.linalg.lu_solve(f(3, 3), i(2, 3), f(3, 2))",
        "torch.linalg.lu_solve(f(3, 3), torch.tensor([1, 2, 3], dtype=torch.int32), f(7, 5))",
        "torch.ormqr(f(5, 3), f(2, 3), f(5, 2))",
        "torch.ormqr(f(5, 3), torch.tensor(2.0), f(5, 2))",
        "torch.hash_tensor(f(2, 3), -9)",
        "torch.hash_tensor(torch.ones(0))",
        "torch.hash_tensor(torch.ones(2, 0), 1)",
    ],
)
def test_a_call_is_refused_as_torch_refuses_it(call):
    theirs = outcome(call, torch)
    assert theirs.kind
    assert outcome(call, retrograd) == theirs


@pytest.mark.parametrize(
    "call",
    [
        "f(3, 4).norm(None)",
        "f(3, 4).norm('nuc')",
        "f(5, 3).split(torch.tensor(2))",
        "torch.nn.functional.dropout(f(2, 3), torch.tensor(0.0))",
        "torch.nn.functional.grid_sample(f(1, 1, 1, 1), f(1, 2, 2, 2))",
        "torch.nn.functional.lp_pool2d(f(1, 2, 3, 4), inf, 2)",
        "torch.hash_tensor(torch.ones(0, 2), 1)",
        "torch.hash_tensor(torch.tensor(2), -1)",
        "torch.nansum(i(2, 3), dtype=torch.complex64)",
    ],
)
def test_a_call_is_taken_as_torch_takes_it(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(call, torch) == outcome(call, retrograd) == Outcome("", "")
