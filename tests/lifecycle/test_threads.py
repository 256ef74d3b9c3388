"""Several threads: no update is lost, modes and failures stay where they are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.engine.state import HOT

THREADS = 4


def together(work: Callable[[int], None], count: int = THREADS) -> list[BaseException]:
    """Run `work(0)` ... `work(count - 1)` at the same time; what they raised."""
    barrier = threading.Barrier(count)
    raised: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_separate_graphs_on_a_shared_leaf() -> None:
    x = torch.zeros(5, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(200):
            (x * 1.0).sum().backward()

    assert together(work) == []
    assert x.grad.tolist() == [200.0 * THREADS] * 5


def test_separate_graphs_with_hooks_and_modes() -> None:
    x = torch.zeros(5, requires_grad=True)
    seen = []
    x.register_hook(lambda gradient: seen.append(1) or gradient)

    def work(number: int) -> None:
        for step in range(50):
            y = x * 2
            y.register_hook(lambda gradient: gradient / 2)
            y.sum().backward(create_graph=step % 2 == number % 2)

    assert together(work) == []
    assert x.grad.detach().tolist() == [50.0 * THREADS] * 5
    assert len(seen) == 50 * THREADS


def test_one_graph_walked_by_all() -> None:
    x = torch.ones(5, requires_grad=True)
    loss = (x.exp() * x).sum()

    def work(number: int) -> None:
        for _ in range(50):
            loss.backward(retain_graph=True)

    loss.backward(retain_graph=True)
    single = x.grad.clone()
    x.grad = None
    assert together(work) == []
    assert torch.allclose(x.grad, single * 50 * THREADS)


def test_grad_in_threads_touches_no_leaf() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = (x**3).sum()
    found = []

    def work(number: int) -> None:
        for _ in range(50):
            found.append(torch.autograd.grad(loss, x, retain_graph=True)[0].tolist())

    assert together(work) == []
    assert found == [[3.0] * 3] * (50 * THREADS)
    assert x.grad is None


def test_a_failure_stays_in_its_thread() -> None:
    x = torch.ones(3, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(50):
            y = x * 2.0
            if number == 0:

                def fail(gradient: Any) -> None:
                    raise ValueError("only here")

                y.register_hook(fail)
            y.sum().backward()

    raised = together(work)
    assert [str(error) for error in raised] == ["only here"]
    assert x.grad.tolist() == [2.0 * 50 * (THREADS - 1)] * 3
    # and the engine still works here
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_one_thread_frees_what_another_needs() -> None:
    x = torch.ones(3, requires_grad=True)
    loss = x.exp().sum()

    def work(number: int) -> None:
        loss.backward()

    raised = together(work)
    assert len(raised) >= THREADS - 1 or x.grad is not None
    assert all("second time" in str(error) for error in raised)
    # whatever the order, only whole passes were added
    passes = x.grad / x.detach().exp()
    assert torch.equal(passes, passes.round())


def test_modes_belong_to_a_thread() -> None:
    x = torch.ones(3, requires_grad=True)
    inside, outside = threading.Event(), threading.Event()
    seen: dict[str, Any] = {}

    def other() -> None:
        inside.wait()
        seen["enabled"] = torch.is_grad_enabled()
        seen["inference"] = torch.is_inference_mode_enabled()
        seen["recorded"] = (x * 2).requires_grad
        outside.set()

    for mode in (torch.no_grad, torch.inference_mode):
        inside.clear(), outside.clear(), seen.clear()
        thread = threading.Thread(target=other)
        thread.start()
        with mode():
            inside.set()
            outside.wait()
            assert not (x * 2).requires_grad
        thread.join()
        assert seen == {"enabled": True, "inference": False, "recorded": True}
    assert (x * 2).requires_grad


def test_a_thread_that_ends_inside_no_grad_changes_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # threads that ended so stay counted, which costs ops some time: not those of the next tests
    monkeypatch.setitem(HOT, "NO_GRAD", HOT["NO_GRAD"])
    x = torch.ones(3, requires_grad=True)

    def work(number: int) -> None:
        torch.set_grad_enabled(False)
        assert not (x * 2).requires_grad

    assert together(work) == []
    assert (x * 2).requires_grad
    fresh = []
    together(lambda number: fresh.append((x * 2).requires_grad))
    assert fresh == [True] * THREADS


def test_forward_in_one_thread_backward_in_another() -> None:
    x = torch.ones(3, requires_grad=True)
    losses = [(x * factor).sum() for factor in (1.0, 2.0, 3.0, 4.0)]
    assert together(lambda number: losses[number].backward()) == []
    assert x.grad.tolist() == [10.0] * 3


def test_models_train_side_by_side() -> None:
    results: dict[int, list[float]] = {}

    def work(number: int) -> None:
        weight = torch.full((3,), 2.0, requires_grad=True)
        optimizer = torch.optim.Adam([weight], lr=0.1)
        for _ in range(50):
            optimizer.zero_grad()
            loss = (weight * weight).sum()
            loss.backward()
            optimizer.step()
        results[number] = weight.tolist()

    assert together(work) == []
    assert len({tuple(values) for values in results.values()}) == 1
