"""The end of graphs: nothing goes down the stack, nothing is left, weak references hear of it."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import core

SMALL = 256 * 1024  # bytes of stack


def in_small_thread(work: Callable[[], Any]) -> Any:
    found = []
    before = threading.stack_size(SMALL)
    try:
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return found[0]


def chain(length: int, step: Callable[[Any], Any]) -> tuple[Any, Any]:
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(length):
        y = step(y)
    return x, y


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


STEPS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda y: y * 1.0,
    "saving": lambda y: (y * y).tanh(),
    "view": lambda y: y.view(2).exp(),
    "in place": lambda y: (y + 1).mul_(0.5),
    "several": lambda y: y.unbind(0)[0].repeat(2),
    "custom": Doubled.apply,
    "looked at": lambda y: [y * 2, y.grad_fn][0],  # a node that was looked at has another class
}


needs_depth = pytest.mark.skipif(
    sys.version_info[:2] == (3, 13) and not core.AVAILABLE,
    reason="Python 3.13 itself goes down the stack of a thread until it overflows",
)


@needs_depth
@pytest.mark.parametrize("step", STEPS)
def test_long_chains_in_a_small_thread(step: str) -> None:
    def work() -> bool:
        _, y = chain(10_000, STEPS[step])
        middle = y.grad_fn
        for _ in range(10):
            middle = middle.next_functions[0][0]
        ends = [weakref.ref(y.grad_fn), weakref.ref(middle)]
        del y, middle
        return all(end() is None for end in ends)

    assert in_small_thread(work)


@needs_depth
@pytest.mark.parametrize("wants_gradient", [False, True])
def test_views_of_views_in_a_small_thread(wants_gradient: bool) -> None:
    def work() -> bool:
        x = torch.ones(2, requires_grad=wants_gradient)
        view, middle = x, x
        for count in range(20_000):
            view = view[:]
            if count == 10_000:
                middle = view
        end = weakref.ref(view)
        del view
        return end() is None and len(middle._view.chain) == 10_001

    assert in_small_thread(work)


@needs_depth
@pytest.mark.slow
@pytest.mark.parametrize("run", [False, True])
def test_a_million_nodes_in_a_small_thread(run: bool) -> None:
    def work() -> float:
        x, y = chain(1_000_000, STEPS["plain"])
        if run:
            y.sum().backward()
        del y
        return x.grad.sum().item() if run else 2.0

    assert in_small_thread(work) == 2.0


def _held(y: Any, z: Any) -> None:
    z.held = y


def _hooked(y: Any, z: Any) -> None:
    z.register_hook(lambda gradient: None if y is None else gradient)


HOLDS: dict[str, Callable[[Any, Any], None]] = {
    "attribute": _held,
    "list": lambda y, z: _held([y], z),
    "gradient": lambda y, z: setattr(z, "grad", y),
    "hook": _hooked,
}


@needs_depth
@pytest.mark.parametrize("hold", HOLDS)
def test_tensors_that_hold_tensors_in_a_small_thread(hold: str) -> None:
    def work() -> bool:
        y = torch.ones(1, requires_grad=True)
        end = weakref.ref(y)
        for _ in range(20_000):
            z = torch.ones(1, requires_grad=True)
            HOLDS[hold](y, z)
            y = z
        del y, z
        return end() is None

    assert in_small_thread(work)


def test_graphs_leave_nothing() -> None:
    for step in STEPS.values():
        chain(50, step)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            for step in STEPS.values():
                chain(50, step)
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def test_a_weak_reference_is_told_once() -> None:
    told = []
    _, y = chain(200, STEPS["plain"])
    nodes = []
    node = y.grad_fn
    while node is not None and node.next_functions:
        nodes.append(weakref.ref(node, told.append))
        node = node.next_functions[0][0]
    del y, node
    assert len(told) == len(nodes) == 200
    assert all(reference() is None for reference in nodes)


def test_what_a_node_holds_ends_with_it() -> None:
    class Held:
        pass

    _, y = chain(100, STEPS["plain"])
    node = y.grad_fn
    for _ in range(60):
        node = node.next_functions[0][0]
    held = Held()
    node.metadata["held"] = held
    end = weakref.ref(held)
    del held, node
    assert end() is not None
    del y
    assert end() is None


def test_an_end_that_ends_other_graphs() -> None:
    """Whatever runs at the end of a node may build and release graphs of its own."""
    done = []

    def again(_: Any) -> None:
        chain(500, STEPS["saving"])
        done.append(1)

    _, y = chain(300, STEPS["plain"])
    references = []
    node = y.grad_fn
    for _ in range(100):
        references.append(weakref.ref(node, again))
        node = node.next_functions[0][0]
    del y, node
    assert len(done) == 100


def test_errors_are_not_disturbed() -> None:
    def failing() -> None:
        _, y = chain(300, STEPS["plain"])
        raise ValueError(y.shape)

    with pytest.raises(ValueError, match="2"):
        failing()


def test_at_exit() -> None:
    """A graph that lives until the interpreter ends."""
    program = """
import retrograd as torch
x = torch.ones(2, requires_grad=True)
y = x
for _ in range(50_000):
    y = y * 1.0
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
