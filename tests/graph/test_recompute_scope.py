"""`with graph.recompute():` around a forward: its arrays go at the end, backward computes them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

import retrograd as torch
from retrograd import graph
from retrograd.engine import recomputing
from retrograd.engine.state import HOT, STATE
from tests.graph.programs import Step, collected, leaves, programs, run

F = torch.nn.functional


@pytest.fixture(autouse=True)
def everything_counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays too."""
    monkeypatch.setattr(recomputing, "SMALLEST", 0)
    yield


def same(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(
        (a is None and b is None) or torch.equal(a, b) for a, b in zip(found, expected, strict=True)
    )


@settings(max_examples=150, deadline=None)
@given(programs)
def test_random_programs(program: list[Step]) -> None:
    found = []
    for scoped in (True, False):
        inputs = leaves()
        if scoped:
            with graph.recompute():
                roots = run(program, inputs)
        else:
            roots = run(program, inputs)
        torch.rand(3)
        for number in (0, 1, 2, 0):
            roots[number].backward(retain_graph=True)
            found.append(collected(inputs))
    assert all(same(a, b) for a, b in zip(found[:4], found[4:], strict=True))


def test_what_it_holds() -> None:
    """Nothing but leaves and inputs: also random numbers, constants and numbers come back."""
    x = torch.ones(100, requires_grad=True)
    made: list[weakref.ref[Any]] = []

    def keep(value: Any) -> Any:
        made.append(weakref.ref(value._array))
        return value

    torch.manual_seed(0)
    with graph.recompute():
        y = keep((keep(x * 2) + 1.5).exp())
        y = keep(F.dropout(y, 0.5))
        y = keep(y.masked_fill(torch.ones(100) > 2, 3.0).tanh())
        loss = (y * y).sum()
        del y
    assert [reference() is not None for reference in made].count(True) <= 1
    (found,) = torch.autograd.grad(loss, x, retain_graph=True)
    torch.manual_seed(0)
    y = F.dropout((x * 2 + 1.5).exp(), 0.5).tanh()
    (expected,) = torch.autograd.grad((y * y).sum(), x)
    assert torch.equal(found, expected)


def test_inputs_made_before_are_held() -> None:
    x = torch.ones(100, requires_grad=True)
    before = x.sin()
    with graph.recompute():
        loss = (before + 1).exp().sum()
    before_array = weakref.ref(before._array)
    del before
    assert before_array() is not None
    loss.backward()
    assert torch.allclose(x.grad, (torch.ones(100).sin() + 1).exp() * torch.ones(100).cos())


def test_the_generator_goes_on_where_it_was() -> None:
    torch.manual_seed(0)
    x = torch.ones(100, requires_grad=True)
    with graph.recompute():
        loss = (F.dropout(x, 0.5) * F.dropout(x.exp(), 0.2)).sum()
    state = torch.get_rng_state()
    loss.backward()
    assert torch.equal(torch.get_rng_state(), state)


def test_a_written_input_is_an_error_that_names_the_line() -> None:
    x = torch.ones(100, requires_grad=True)
    scale = torch.ones(100)
    with graph.recompute():
        loss = (x + scale).exp().sum()  # no derivative reads it: only the scope knows
    scale.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
        loss.backward()
    labels = [span.label for span in raised.value.report.spans]  # type: ignore[attr-defined]
    assert any("add_" in label for label in labels)


def test_nothing_is_left_on() -> None:
    before = HOT["UNUSUAL"]
    with pytest.raises(KeyError), graph.recompute():
        x = torch.ones(3, requires_grad=True).exp()
        raise KeyError
    x.sum().backward()
    with graph.recompute(), graph.recompute():
        pass
    assert HOT["UNUSUAL"] == before and STATE.scope is None


def test_a_long_scope_holds_no_graph() -> None:
    x = torch.ones(10, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        with graph.recompute():
            nodes = []
            for _ in range(5):
                y = x.exp()
                y.sum().backward()
                nodes.append(weakref.ref(y.grad_fn))
                del y
            assert all(node() is None for node in nodes)
    finally:
        gc.enable()


def test_batch_norm_counts_once() -> None:
    layer = torch.nn.BatchNorm1d(4)
    x = torch.randn(8, 4, requires_grad=True)
    with graph.recompute():
        loss = layer(x.exp()).tanh().sum()
    means = layer.running_mean.clone()
    loss.backward()
    assert torch.equal(layer.running_mean, means)
    assert int(layer.num_batches_tracked) == 1


def test_recomputable_tells_what_stays() -> None:
    x = torch.ones(1000, requires_grad=True)
    y = ((x + torch.ones(1000)).exp() * x).tanh()
    found = graph.recomputable(y)
    assert found.nbytes == 4000  # the result of tanh, from that of exp, which stays
    assert "8.0 KiB" not in str(found) and "stays: it is made from a value" in str(found)
    assert graph.recomputable(torch.ones(3)).rows == []
    with pytest.raises(TypeError, match="graphs of retrograd"):
        graph.recomputable(object())  # type: ignore[arg-type]


@pytest.mark.torch
def test_pytorch_is_refused_by_name() -> None:
    theirs = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"PyTorch does not tell .* torch\.Tensor"):
        graph.recomputable(theirs.ones(2, requires_grad=True).exp())
