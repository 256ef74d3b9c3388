"""`retain_graph="recompute"`: saved arrays go, and come back when a later backward needs them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

import retrograd as torch
from retrograd.engine import letting_go, recomputing
from retrograd.engine.checkpoints import Span, best_cuts, crossing
from retrograd.engine.recomputing import survey
from tests.graph.programs import Step, collected, leaves, programs, run

F = torch.nn.functional


@pytest.fixture(autouse=True)
def everything_counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small arrays too."""
    monkeypatch.setattr(letting_go, "SMALLEST", 0)
    yield


def same(found: list[Any], expected: list[Any]) -> bool:
    """Whether the bits are the same, those of a nan too: programs of random steps overflow."""

    def bits(values: list[Any]) -> list[bytes | None]:
        return [None if value is None else value.detach().numpy().tobytes() for value in values]

    return bits(found) == bits(expected)


def walked(program: list[Step], retain: Any) -> list[Any]:
    """The gradients after several backward calls, each from another root, some of them again."""
    inputs = leaves()
    roots = run(program, inputs)
    found = []
    for number in (0, 1, 0, 2, 1, 2, 0):
        roots[number].backward(retain_graph=retain)
        found += collected(inputs)
    return found


@settings(max_examples=150, deadline=None)
@given(programs)
def test_random_programs(program: list[Step]) -> None:
    assert same(walked(program, "recompute"), walked(program, True))


@settings(max_examples=60, deadline=None)
@given(programs)
def test_random_programs_keep_what_is_named(program: list[Step]) -> None:
    found = []
    for retain in ("list", True):
        inputs = leaves()
        roots = run(program, inputs, keep=True)
        kept = [value for value in roots if value.requires_grad]
        for root in roots[:3]:
            root.backward(retain_graph=kept if retain == "list" else True)
            found.append(collected(inputs))
        for value in kept:
            value.sum().backward(retain_graph=kept if retain == "list" else True)
        found.append(collected(inputs))
    half = len(found) // 2
    assert all(same(a, b) for a, b in zip(found[:half], found[half:], strict=True))


@settings(max_examples=60, deadline=None)
@given(programs)
def test_random_programs_second_order(program: list[Step]) -> None:
    found = []
    for retain in ("recompute", True):
        inputs = leaves()
        root = run(program, inputs)[1]
        root.backward(retain_graph=retain)
        slopes = torch.autograd.grad(
            root, inputs, create_graph=True, allow_unused=True, retain_graph=retain
        )
        total = sum(slope.sin().sum() for slope in slopes if slope is not None)
        if total.requires_grad:
            total.backward(retain_graph=retain)
            total.backward()
        found.append(collected(inputs))
    assert same(*found)


def network(depth: int = 12, width: int = 64) -> tuple[Any, Any]:
    torch.manual_seed(0)
    layers = [
        torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh()) for _ in range(depth)
    ]
    return torch.nn.Sequential(*layers), torch.randn(32, width)


def saved_bytes(loss: Any) -> int:
    """The bytes that the graph keeps alive and made itself, each memory once."""
    found = survey([loss.grad_fn])
    return sum(
        {
            entry.memory: entry.nbytes for entry in found.entries if "leaf" not in str(entry.reason)
        }.values()
    )


def test_arrays_go_and_come_back() -> None:
    model, x = network()
    loss = model(x).pow(2).sum()
    before = saved_bytes(loss)
    loss.backward(retain_graph="recompute")
    first = [p.grad.clone() for p in model.parameters()]
    assert saved_bytes(loss) < before / 2
    model.zero_grad()
    loss.backward(retain_graph="recompute")
    assert same([p.grad for p in model.parameters()], first)
    assert saved_bytes(loss) < before / 2  # the second time too
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_nothing_computed_stays() -> None:
    model, x = network(4)
    loss = model(x).pow(2).sum()
    hidden = weakref.ref(model[0](x).grad_fn)
    assert hidden() is None
    loss.backward(retain_graph="recompute")
    found = survey([loss.grad_fn])
    recipes = [weakref.ref(entry) for entry in {v.recipe for v in found.values.values()} if entry]
    assert recipes
    del found
    gc.collect()
    loss.backward()
    assert all(recipe() is None for recipe in recipes)  # released, and so are what they held


def test_a_changed_leaf_is_named() -> None:
    model, x = network()
    loss = model(x).sum()
    loss.backward(retain_graph="recompute")
    with torch.no_grad():
        for layer in model:
            layer[0].bias.add_(1)  # no derivative reads it, but values come from it
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
        loss.backward()
    labels = [span.label for span in raised.value.report.spans]  # type: ignore[attr-defined]
    assert any("add_" in label for label in labels)
    model.zero_grad()
    model(x).sum().backward()  # a new graph is a new matter


def test_a_leaf_that_changed_before_is_not_trusted() -> None:
    """Between the forward and the first backward: what came from it then cannot be had again."""
    x = torch.ones(50, requires_grad=True)
    bias = torch.ones(50, requires_grad=True)
    y = (x + bias).exp()
    with torch.no_grad():
        bias.add_(5)
    loss = y.sum()
    del y
    loss.backward(retain_graph="recompute")
    first = x.grad.clone()
    loss.backward()
    assert torch.equal(x.grad, first + first)
    del loss  # and with it what remembers the version
    reasons = [entry.reason for entry in survey([(x + bias).exp().grad_fn]).entries]
    assert reasons == [None]


def test_replaced_data_is_an_error() -> None:
    x = torch.ones(50, requires_grad=True)
    loss = (x * 2).exp().sum()
    loss.backward(retain_graph="recompute")
    x.data = torch.zeros(50)
    with pytest.raises(RuntimeError, match="data were replaced"):
        loss.backward()


def test_a_result_may_be_written_afterwards() -> None:
    """With its recipe, a written value is computed as it was; kept whole it would be an error."""
    x = torch.ones(50, requires_grad=True)
    y = x.exp()
    loss = (y * 2).sum()
    loss.backward(retain_graph="recompute")
    first = x.grad.clone()
    with torch.no_grad():
        y.zero_()
    loss.backward()
    assert torch.equal(x.grad, first + first)


def test_what_somebody_holds_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(50, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    loss.backward(retain_graph="recompute")
    ran: list[Any] = []
    monkeypatch.setattr(recomputing, "_computed", lambda *given: ran.append(given))
    loss.backward(retain_graph=True)
    assert ran == []


def test_dropout_drops_the_same() -> None:
    x = torch.ones(200, requires_grad=True)
    loss = (F.dropout(x.exp(), 0.5) * x).sin().sum()
    loss.backward(retain_graph=True)
    first, x.grad = x.grad, None
    loss.backward(retain_graph="recompute")
    assert torch.equal(x.grad, first)
    x.grad = None
    torch.rand(7)
    state = torch.get_rng_state()
    loss.backward()
    assert torch.equal(x.grad, first)
    assert torch.equal(torch.get_rng_state(), state)


def test_autocast_and_half() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(16, 16)
    x = torch.randn(8, 16)
    found = []
    for retain in ("recompute", True):
        layer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = layer(layer(x).relu()).float().pow(2).sum()
        loss.backward(retain_graph=retain)
        loss.backward()
        found.append([p.grad.clone() for p in layer.parameters()])
    assert same(*found)


def test_carried_state_retain_recompute_detach() -> None:
    """Through all steps by either way of keeping; cut short by detach."""
    torch.manual_seed(1)
    inputs = [torch.randn(4, 8) for _ in range(5)]
    found: dict[Any, Any] = {}
    for retain in (True, "recompute", None):
        weight = torch.full((8, 8), 0.1, requires_grad=True)
        state = torch.zeros(4, 8)
        for given_now in inputs:
            state = (state @ weight + given_now).tanh()
            state.pow(2).sum().backward(retain_graph=retain)
            if retain is None:
                state = state.detach()
        found[retain] = weight.grad
    assert torch.equal(found[True], found["recompute"])
    assert not torch.equal(found[True], found[None])


def test_hooks_of_the_user_keep_their_values() -> None:
    x = torch.ones(50, requires_grad=True)
    packed: list[Any] = []

    def pack(value: Any) -> Any:
        packed.append(value)
        return value.numpy().copy()

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        y = x.exp()
    loss = (y * y).sum()
    loss.backward(retain_graph="recompute")
    first = x.grad.clone()
    loss.backward()
    assert torch.equal(x.grad, first + first) and len(packed) == 1


def test_saved_values_can_be_read() -> None:
    x = torch.ones(50, requires_grad=True)
    y = x.exp()
    node = y.grad_fn
    (y * 2).sum().backward(retain_graph="recompute")
    expected = y.detach().clone()
    del y
    assert torch.equal(node._saved_result, expected)
    assert node._saved_result.grad_fn is node


def test_an_exception_leaves_a_usable_graph() -> None:
    model, x = network(4)
    loss = model(x).pow(2).sum()
    loss.backward(retain_graph="recompute")
    first = [p.grad.clone() for p in model.parameters()]
    for fail_at in range(3):
        handle = model[fail_at][0].weight.register_hook(lambda gradient: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            loss.backward(retain_graph="recompute")
        handle.remove()
    model.zero_grad()
    loss.backward()
    assert same([p.grad for p in model.parameters()], first)


def test_threads() -> None:
    model, x = network(6, 16)
    loss = model(x).pow(2).sum()
    parameters = list(model.parameters())
    expected = torch.autograd.grad(loss, parameters, retain_graph=True)
    failures: list[Any] = []

    def work() -> None:
        try:
            for _ in range(10):
                found = torch.autograd.grad(loss, parameters, retain_graph="recompute")
                assert same(list(found), list(expected))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_no_leak_over_many_steps() -> None:
    model, x = network(3, 16)
    counts = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(30):
            loss = model(x).pow(2).sum()
            loss.backward(retain_graph="recompute")
            loss.backward()
            del loss
            counts.append(len(gc.get_objects()))
    finally:
        gc.enable()
    assert counts[-1] <= counts[5] + 5


def test_a_long_chain_needs_no_recursion() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(5000):
        y = (y * 0.999).tanh()
    loss = y.sum()
    loss.backward(retain_graph="recompute")
    first = x.grad.clone()
    loss.backward()
    assert torch.equal(x.grad, first + first)


def test_reasons_are_told() -> None:
    x = torch.ones(20, requires_grad=True)
    y = (x + torch.ones(20)).exp()
    found = survey([y.grad_fn])
    assert [entry.reason for entry in found.entries] == [
        "it is made from a value that cannot be computed again: its operand 'other' has no "
        "history and was not saved"
    ]
    loss = y.sum()
    loss.backward(retain_graph="recompute")
    first = x.grad.clone()
    loss.backward()
    assert torch.equal(x.grad, first + first)


def test_cuts() -> None:
    """Ten layers of one hundred bytes, with ten bytes between them: cut there."""
    spans = []
    for layer in range(10):
        spans.append(Span(2 * layer, 2 * layer + 1, 100, True))
        spans.append(Span(2 * layer + 1, 2 * layer + 2, 10, True))
    cuts = best_cuts(spans, 22)
    assert cuts and all(cut % 2 == 1 for cut in cuts)
    kept = crossing(spans, cuts)
    assert all(span.nbytes == 10 for span, stays in zip(spans, kept, strict=True) if stays)
    assert best_cuts([], 3) == []


def test_cuts_avoid_what_is_gone() -> None:
    """Between the layers one value was saved and one was not: only the first can be kept."""
    spans = []
    for layer in range(10):
        spans.append(Span(4 * layer, 4 * layer + 3, 100, True))
        spans.append(Span(4 * layer + 1, 4 * layer + 3, 10, False))
        spans.append(Span(4 * layer + 3, 4 * layer + 4, 30, True))
    cuts = best_cuts(spans, 41)
    assert len(cuts) > 1 and {cut % 4 for cut in cuts} == {3}
