"""`with graph.recompute():` around a forward: its arrays go at the end, backward computes them."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

import retrograd as torch
from retrograd import graph
from retrograd.engine import letting_go, recompute_scope
from retrograd.engine.state import HOT, STATE
from tests.graph.programs import Step, collected, leaves, programs, run

F = torch.nn.functional


@pytest.fixture(autouse=True)
def everything_counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays too."""
    monkeypatch.setattr(letting_go, "SMALLEST", 0)
    monkeypatch.setattr(recompute_scope, "SMALLEST_WINDOW", 0)
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


def deep(count: int, *shape: int) -> tuple[Any, Any]:
    torch.manual_seed(0)
    width = shape[-1]
    layers = [m for _ in range(count) for m in (torch.nn.Linear(width, width), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers), torch.randn(*shape)


def most_alive(net: Any, x: Any, *, scoped: bool) -> tuple[int, Any]:
    """The most results of layers that were alive at once while the forward ran, and its loss."""
    made: list[weakref.ref[Any]] = []
    most = 0
    with graph.recompute() if scoped else contextlib.nullcontext():
        y = x
        for layer in net:
            y = layer(y)
            made.append(weakref.ref(y._array))
            most = max(most, sum(known() is not None for known in made))
        return most, y.square().mean()


def test_the_forward_itself_holds_less() -> None:
    """Arrays go while it runs, so that its peak falls as that of a wrapped model would."""
    net, x = deep(100, 8, 16)
    plain, expected_loss = most_alive(net, x, scoped=False)
    scoped, loss = most_alive(net, x, scoped=True)
    assert plain >= 100 and scoped <= 35  # about twice the root, and what an op works on
    expected = torch.autograd.grad(expected_loss, net.parameters())
    assert same(torch.autograd.grad(loss, net.parameters()), expected)


def test_a_skip_connection_over_everything() -> None:
    """A value from far before is kept when it is read, and not computed again from the begin."""
    net, x = deep(40, 8, 16)
    found = []
    for scoped in (True, False):
        with graph.recompute() if scoped else contextlib.nullcontext():
            first = net[1](net[0](x))
            y = first
            for layer in net[2:]:
                y = layer(y)
            loss = (y + first).square().mean()
            del y, first
        found.append(torch.autograd.grad(loss, net.parameters()))
    assert same(*found)


def test_training_steps_in_one_scope_leave_nothing() -> None:
    net, x = deep(10, 8, 16)
    alive = []
    gc.collect()
    gc.disable()
    try:
        with graph.recompute():
            for _ in range(20):
                loss = net(x).square().mean()
                loss.backward()
                del loss
                alive.append(len(gc.get_objects()))
    finally:
        gc.enable()
    assert alive[-1] <= alive[5] + 5


class Dropped(torch.autograd.Function):
    """Draws in its forward; saves its result and what it drew."""

    runs = 0
    generator: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Dropped.runs += 1
        result = x * (torch.rand(x.shape, generator=Dropped.generator) > 0.5)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (result,) = ctx.saved_tensors
        return gradient * (result != 0)


@pytest.mark.parametrize("way", ["scope", "recompute"])
def test_a_function_that_draws_draws_the_same_again(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recompute_scope, "SMALLEST_WINDOW", 10**6)  # nothing stays for a border
    x = torch.randn(100, requires_grad=True)
    found = []
    for scoped in (True, False):
        torch.manual_seed(7)
        with graph.recompute() if scoped and way == "scope" else contextlib.nullcontext():
            loss = Dropped.apply(x.exp()).sin().sum()
        Dropped.runs = 0
        if way == "recompute":
            loss.backward(retain_graph="recompute" if scoped else True)
        state = torch.get_rng_state()
        found.append(torch.autograd.grad(loss, x)[0])
        assert torch.equal(torch.get_rng_state(), state)
        assert Dropped.runs == scoped
    assert torch.equal(*found)


def test_a_function_with_a_generator_of_its_own_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dropped, "generator", torch.Generator().manual_seed(3))
    x = torch.randn(100, requires_grad=True)
    with graph.recompute():
        y = Dropped.apply(x.exp())
        loss = y.sin().sum()
    kept = y.detach().clone()
    (reason,) = {row.reason for row in graph.recomputable(loss).rows if row.op == "DroppedBackward"}
    assert reason is not None and "a generator of its own" in reason
    del y
    Dropped.runs = 0
    (found,) = torch.autograd.grad(loss, x)
    assert Dropped.runs == 0
    assert torch.equal(found, kept.cos() * (kept != 0) * x.detach().exp())


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
