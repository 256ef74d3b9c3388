"""Many steps and long graphs: nothing grows, nothing recurses."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref
from typing import Any

import pytest

import retrograd as torch


def train(steps: int) -> None:
    weight = torch.ones(3, 3, requires_grad=True)
    bias = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight, bias], lr=1e-3, momentum=0.9)
    x = torch.ones(2, 3)
    state = torch.zeros(2, 3)
    for _ in range(steps):
        state = torch.tanh(x @ weight + bias + 0.5 * state.detach())
        loss = (state - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_ten_thousand_steps_leave_nothing_behind() -> None:
    train(50)
    gc.collect()
    gc.disable()
    try:
        objects = len(gc.get_objects())
        tracemalloc.start()
        train(1)
        before, _ = tracemalloc.get_traced_memory()
        train(500)  # tracing makes every step slow
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        train(9_500)
        assert len(gc.get_objects()) - objects < 50
        assert after - before < 20_000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_errors_in_a_loop_leave_nothing_behind() -> None:
    def attempt() -> None:
        x = torch.ones(3, requires_grad=True)
        loss = (x * x).sum()
        loss.backward()
        for failing in (loss.backward, lambda: x + torch.ones(4), lambda: x.detach().backward()):
            try:
                failing()
            except RuntimeError:
                pass

    for _ in range(5):
        attempt()
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(200):
        attempt()
    gc.collect()
    assert len(gc.get_objects()) - objects < 50


@pytest.mark.slow
def test_a_chain_of_a_million_nodes() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    first = weakref.ref(y.grad_fn)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    assert first() is None


def long_chain(length: int) -> tuple[Any, Any]:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(length):
        y = y * 1.0
    return x, y


def test_a_long_chain_needs_no_stack() -> None:
    limit = sys.getrecursionlimit()
    x, y = long_chain(20_000)
    sys.setrecursionlimit(200)
    try:
        y.backward(retain_graph=True)
        torch.autograd.grad(y, x, retain_graph=True)
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
        del gradient, y
    finally:
        sys.setrecursionlimit(limit)
    assert x.grad.item() == 1.0


def test_a_long_chain_is_freed_in_a_small_thread() -> None:
    """A thread's stack is smaller than the main one's: freeing must not go down it."""
    before = threading.stack_size(256 * 1024)
    done = []

    def work() -> None:
        x, y = long_chain(50_000)
        y.backward()
        del y
        done.append(x.grad.item())

    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert done == [1.0]


def test_a_long_chain_of_views_and_writes() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    for index in range(500):
        y[index % 4 : index % 4 + 1].mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


def test_a_failure_in_a_long_graph_is_explained() -> None:
    limit = sys.getrecursionlimit()
    _, y = long_chain(30_000)
    y.backward()
    sys.setrecursionlimit(200)
    try:
        with pytest.raises(RuntimeError, match="second time") as caught:
            y.backward()
    finally:
        sys.setrecursionlimit(limit)
    assert caught.value.reason == "same-loss-twice"  # type: ignore[attr-defined]


def test_a_wide_graph() -> None:
    x = torch.ones(1, requires_grad=True)
    torch.stack([x * 2 for _ in range(5_000)]).sum().backward()
    assert x.grad.item() == 10_000


def test_shared_subgraphs_are_walked_once() -> None:
    """Two to the sixtieth paths, sixty nodes."""
    x = torch.ones((), requires_grad=True, dtype=torch.float64)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60
