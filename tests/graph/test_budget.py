"""`graph.budget`: the gradients of plain `retain_graph=True`, in no more memory than allowed."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import graph
from retrograd.engine.state import HOT
from retrograd.graph import budgeting
from tests.graph.programs import Step, programs, run
from tests.graph.test_offload import same, walked


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """A place for the files of a test, at whose end there are none."""
    yield str(tmp_path)
    gc.collect()  # a caught error holds frames, and they hold graphs
    assert HOT["UNUSUAL"] == 0
    assert list(tmp_path.iterdir()) == []


def ways(chosen: Any) -> set[str]:
    return {choice.way for choice in chosen.choices}


@settings(max_examples=60, deadline=None)
@given(programs, st.integers(0, 300))
def test_random_programs_give_the_same_bits(program: list[Step], limit: int) -> None:
    def within(program: list[Step], inputs: list[Any]) -> list[Any]:
        with graph.budget(limit):
            return run(program, inputs)

    smallest, budgeting.SMALLEST = budgeting.SMALLEST, 0
    try:
        found = walked(program, within)
    finally:
        budgeting.SMALLEST = smallest
    assert same(found, walked(program, run))


def blocks(count: int) -> Any:
    torch.manual_seed(0)
    kinds = [(torch.nn.Linear, (64, 64)), (torch.nn.GELU, ()), (torch.nn.LayerNorm, (64,))]
    return torch.nn.Sequential(*[kind(*given) for _ in range(count) for kind, given in kinds])


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("10MB", set()),
        ("600kB", {"computed again", "moved"}),
        ("200kB", {"computed again", "moved"}),
    ],
)
def test_a_network_stays_under_its_limit(limit: str, expected: set[str], folder: str) -> None:
    net, x = blocks(5), torch.randn(256, 64)  # values of 64 kB, about fifteen of them
    found = []
    for budget in (False, True):
        net.zero_grad()
        if budget:
            with graph.budget(limit, folder=folder) as chosen:
                loss = net(x).square().mean()
            assert chosen.nbytes <= chosen.limit and chosen.missing == 0
            assert chosen.peak <= chosen.limit + 2 * 65536 + 4096
        else:
            loss = net(x).square().mean()
        for _ in range(2):
            loss.backward(retain_graph=True)
        found.append([p.grad.clone() for p in net.parameters()])
    assert same(*found)
    assert chosen.nbytes <= chosen.limit  # also after two walks
    assert ways(chosen) == expected
    del loss


def test_forward_and_backward_stay_under_the_limit(folder: str) -> None:
    """With dropout, whose masks count, and with what is computed again on the way back."""
    torch.manual_seed(0)
    layers = [
        torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.2, batch_first=True) for _ in range(6)
    ]
    net, x = torch.nn.Sequential(*layers), torch.randn(8, 32, 32)
    found = []
    for limit in (None, "4MB", "2MB", "1MB"):
        net.zero_grad()
        torch.manual_seed(1)
        if limit is None:
            loss = net(x).square().mean()
        else:
            with graph.budget(limit, folder=folder) as chosen:
                loss = net(x).square().mean()
        for _ in range(2):
            loss.backward(retain_graph=True)
        found.append([p.grad.clone() for p in net.parameters()])
        if limit is not None:
            assert 0 < chosen.peak <= chosen.limit and chosen.above == chosen.missing == 0
            assert chosen.choices and "above" not in str(chosen)
    assert all(same(one, found[0]) for one in found)
    del loss


def test_a_moment_above_the_limit_is_told(folder: str) -> None:
    """A single value that is larger than what is free cannot be foreseen."""
    x = torch.randn(300, 300, requires_grad=True)
    with graph.budget("300kB", folder=folder) as chosen:
        loss = x.exp().sum()  # 360 kB: kept for a moment, then computed again
    assert chosen.missing == 0 and chosen.above == 60_000
    assert str(chosen).splitlines()[-1] == "58.6 KiB above the limit at the highest moment"
    loss.backward()


def test_what_is_cheap_is_computed_again_and_what_is_not_is_moved(folder: str) -> None:
    x = torch.randn(200, 200, requires_grad=True)
    weight = torch.randn(200, 200)
    with graph.budget(0, folder=folder) as chosen:
        loss = (x * 0.1).exp().sum() + (x @ weight).sigmoid().sum()
    loss.backward()
    rows = [(choice.way, choice.op, choice.nbytes) for choice in chosen.choices]
    assert rows == [
        ("computed again", "ExpBackward0", 160_000),  # from the leaf, by two elementwise calls
        ("moved", "SigmoidBackward0", 160_000),  # a product of matrices takes longer than a disk
    ]
    del loss


def test_a_value_is_computed_from_one_that_was_moved(folder: str) -> None:
    net, x = blocks(6), torch.randn(256, 64)
    net(x).square().mean().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    with graph.budget("400kB", folder=folder) as chosen:
        loss = net(x).square().mean()
    sources = [
        value
        for node in graph_nodes(loss)
        for saved in node.saved
        if type(saved).__name__ == "SavedTensor" and type(saved._packed).__name__ == "Value"
        for value in saved._packed.recipe.inputs()
        if value.elsewhere is not None
    ]
    assert sources and chosen.missing == 0
    loss.backward()
    assert same([p.grad for p in net.parameters()], expected)
    del loss, sources


def test_memory_that_goes_is_really_free(folder: str) -> None:
    """No recipe of a value that went earlier holds on to one that goes later."""
    net, x = blocks(8), torch.randn(256, 64)
    arrays = []
    with graph.budget("450kB", folder=folder) as chosen:
        y = x
        for layer in net:
            y = layer(y)
            arrays.append(weakref.ref(y._array))
        loss = y.square().mean()
        del y
    alive = [array() for array in arrays]
    assert sum(array.nbytes for array in alive if array is not None) <= chosen.nbytes + 65536
    loss.backward()
    del loss, alive


def graph_nodes(loss: Any) -> list[Any]:
    from retrograd.engine.cutting import nodes_behind

    return list(nodes_behind([loss._grad_fn]))


def test_the_report_names_ways_ops_lines_and_bytes(folder: str) -> None:
    net, x = blocks(5), torch.randn(256, 64)
    with graph.budget("300kB", folder=folder) as chosen:
        loss = net(x).square().mean()
    first, *rest = str(chosen).splitlines()
    assert first.endswith("at most") and "kept of 293.0 KiB" in first
    assert all("test_budget.py:" in line for line in rest)
    assert any("computed again" in line for line in rest) and any("moved" in line for line in rest)
    total = sum(choice.nbytes for choice in chosen.choices)
    assert total + chosen.nbytes >= graph.ledger(loss).total
    del loss


def test_training_steps_in_one_block(folder: str) -> None:
    """What a step has freed counts no more in the next one."""
    net = blocks(2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with graph.budget("300kB", folder=folder) as chosen:
        for x in torch.randn(10, 64, 64):  # about 100 kB each
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
    assert chosen.choices == [] and chosen.nbytes == 0


def test_what_cannot_go_is_said(folder: str) -> None:
    x = torch.randn(100, requires_grad=True)
    with graph.budget(0, folder=folder) as chosen:
        loss = x.exp().sum()  # smaller than what would stand in its place
    assert chosen.missing == chosen.nbytes == 400
    assert str(chosen).splitlines()[-1] == "400 B above the limit could not go"
    loss.backward()


def test_what_belongs_to_a_leaf_does_not_count(folder: str) -> None:
    layer = torch.nn.Linear(100, 100)
    x = torch.randn(2, 100, requires_grad=True)
    with graph.budget(0, folder=folder) as chosen:
        loss = layer(x).sum()  # keeps a view of the weight
    assert chosen.nbytes == 0 and chosen.choices == []
    loss.backward()


def test_nothing_is_kept_alive(folder: str) -> None:
    gc.disable()
    try:
        x = torch.randn(200, 200, requires_grad=True)
        with graph.budget("400kB", folder=folder) as chosen:
            y = x
            for _ in range(6):
                y = (y @ x).tanh()
            node = weakref.ref(y._grad_fn)
            del y
            assert node() is None and chosen.nbytes == 0
            assert list(Path(folder).glob("*/*")) == []
    finally:
        gc.enable()


def test_writes_are_noticed(folder: str) -> None:
    x = torch.randn(100, 100, requires_grad=True)
    with graph.budget(0, folder=folder):
        y = x @ torch.randn(100, 100)
        loss = y.sin().sum()
    with torch.no_grad():
        y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_threads_and_errors(folder: str) -> None:
    found: list[int] = []
    with pytest.raises(ZeroDivisionError), graph.budget(0, folder=folder):
        thread = threading.Thread(target=lambda: found.append(HOT["UNUSUAL"]))
        thread.start()
        thread.join()
        raise ZeroDivisionError
    assert found == [1] and HOT["UNUSUAL"] == 0
    with pytest.raises(ValueError, match="limit must be a size such as"):
        graph.budget("much")
