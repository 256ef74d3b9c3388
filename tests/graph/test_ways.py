"""Every way of keeping a graph, and ways in ways, give the bits of plain `retain_graph=True`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import graph
from retrograd.engine import letting_go, recompute_scope
from retrograd.engine.state import HOT, STATE
from retrograd.graph import budgeting
from tests.graph.programs import Step, collected, leaves, programs, run
from tests.graph.test_offload import same


@pytest.fixture(autouse=True)
def everything_counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays too, and windows of one of them."""
    monkeypatch.setattr(letting_go, "SMALLEST", 0)
    monkeypatch.setattr(budgeting, "SMALLEST", 0)
    monkeypatch.setattr(recompute_scope, "SMALLEST_WINDOW", 0)
    yield
    assert HOT["UNUSUAL"] == 0 and STATE.scope is None and STATE.draws is None


SCOPES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "none": nullcontext,
    "recompute": graph.recompute,
    "disk": lambda: graph.offload("disk", over=0),
    "host": lambda: graph.offload("host", over=0),
    "budget of 0": lambda: graph.budget(0),
    "budget of 150": lambda: graph.budget(150),
}
RETAIN = ("True", "recompute", "list")

ways = st.tuples(
    st.sampled_from(sorted(SCOPES)),
    st.sampled_from(sorted(SCOPES)),  # inside of the first
    st.lists(st.sampled_from(RETAIN), min_size=5, max_size=5),
)
Way = tuple[str, str, list[str]]
PLAIN: Way = ("none", "none", ["True"] * 5)


def walked(program: list[Step], way: Way) -> list[Any]:
    """The gradients of several losses, walked several times, and a second order."""
    outer, inner, retains = way
    inputs = leaves()
    with SCOPES[outer](), SCOPES[inner]():
        roots = run(program, inputs)
    torch.rand(3)
    found = []
    for number, retain in zip((0, 1, 2, 0, 1), retains, strict=True):
        keep = roots if retain == "list" else "recompute" if retain == "recompute" else True
        roots[number].backward(retain_graph=keep)
        found += collected(inputs)
    penalty = torch.autograd.grad(roots[0], inputs, create_graph=True, allow_unused=True)
    sum([(g * g).sum() for g in penalty if g is not None], roots[1]).backward()
    return found + collected(inputs)


@settings(max_examples=150, deadline=None)
@given(programs, ways)
def test_all_ways_give_the_same_bits(program: list[Step], way: Way) -> None:
    assert same(walked(program, way), walked(program, PLAIN))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("retain", RETAIN)
@settings(max_examples=15, deadline=None)
@given(program=programs)
def test_each_way(scope: str, retain: str, program: list[Step]) -> None:
    way = (scope, "none", [retain] * 5)
    assert same(walked(program, way), walked(program, PLAIN))
