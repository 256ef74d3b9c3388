"""The compiled walk does what the Python engine does: order, values, errors, records, memory."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import retrograd as torch
from retrograd import core
from retrograd.engine.accumulate import ACTIVE
from retrograd.engine.node import dressed
from retrograd.engine.state import HOT, STATE
from tests.autograd.random_programs import SHAPES, run, steps
from tests.core.both import needs_core, on_both, same, switched

pytestmark = needs_core

EVERY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def array(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy()


def idle() -> tuple[Any, ...]:
    modes = (STATE.call, STATE.depth, STATE.grad_enabled, STATE.cut, STATE.saved_hooks)
    return (*modes, HOT["NO_GRAD"], HOT["UNUSUAL"], ACTIVE.calls, tuple(np.geterr().values()))


# ------------------------------------------------------------------------------- random graphs


@EVERY
@given(
    shapes=st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3),
    program=steps,
    seed=st.integers(0, 10_000),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_gradients_of_every_order(shapes: Any, program: Any, seed: int, dtype: str) -> None:
    generator = np.random.default_rng(seed)
    arrays = [generator.uniform(-1, 1, shape) for shape in shapes]
    before = idle()
    compiled, python = on_both(lambda: run(torch, arrays, program, dtype))
    assert idle() == before
    if isinstance(compiled, str):
        assert compiled == python
        return
    for ours, theirs in zip(compiled, python, strict=True):
        assert same([array(t) for t in ours], [array(t) for t in theirs])


Plan = list[tuple[str, int, int]]


def graph(program: Plan, log: list[Any]) -> tuple[list[Any], list[Any]]:
    """Leaves, and a pool of tensors some of which have hooks that write into the log."""
    leaves = [torch.tensor([[0.5, -1.5], [2.0, 0.25]]).requires_grad_() for _ in range(2)]
    leaves.append(torch.tensor([0.3, -0.7], requires_grad=True))
    pool = list(leaves)
    for number, (what, i, j) in enumerate(program):
        x, y = pool[-1 - i % len(pool)], pool[j % len(pool)]
        if what == "mul":
            pool.append(x * y)
        elif what == "add":
            pool.append(x + y)
        elif what == "tanh":
            pool.append(torch.tanh(x))
        elif what == "split":
            pool += x.split(1, -1)
            pool[-2:] = [part.expand(2, 2) for part in pool[-2:]]
        elif what == "hook":
            x.register_hook(lambda g, n=number: log.append((n, "hook", g.detach().numpy().copy())))
        elif what == "scale":
            x.register_hook(lambda g: g * 0.5)
        elif what == "prehook" and x.grad_fn is not None:
            x.grad_fn.register_prehook(lambda g, n=number: log.append((n, "pre", len(g))))
        elif what == "posthook" and x.grad_fn is not None:
            x.grad_fn.register_hook(lambda a, b, n=number: log.append((n, "post", len(a), len(b))))
        elif what == "retain" and x.grad_fn is not None:
            x.retain_grad()
        elif what == "post_accumulate" and x.is_leaf:
            x.register_post_accumulate_grad_hook(
                lambda leaf, n=number: log.append((n, "leaf", leaf.grad.numpy().copy()))
            )
    return leaves, pool


STEPS = ["mul", "add", "tanh", "split", "hook", "scale", "prehook", "posthook", "retain"]
plans = st.lists(
    st.tuples(st.sampled_from([*STEPS, "post_accumulate"]), st.integers(0, 20), st.integers(0, 20)),
    min_size=1,
    max_size=14,
)


def life(pool: list[Any]) -> list[Any]:
    """What every node has been through, as reports tell it."""
    found = []
    for tensor in pool:
        node = tensor.grad_fn
        if node is not None:
            freed = None if node.freed is None else (node.freed.kind, node.freed.nodes_run)
            reached = None if node.reached_code is None else node.reached_code.co_name
            kinds = [type(value).__name__ for value in node.saved]
            found.append((freed, reached, kinds, type(dressed(node)).__name__))
    return found


@EVERY
@given(program=plans, way=st.sampled_from(["twice", "retain", "inputs", "grad", "create"]))
def test_hooks_records_and_errors(program: Plan, way: str) -> None:
    def once() -> Any:
        log: list[Any] = []
        leaves, pool = graph(program, log)
        total = sum([t.sum() for t in pool])
        told: list[Any] = []
        for turn in range(2):
            try:
                if way == "inputs":
                    total.backward(inputs=leaves[:2])
                elif way == "grad":
                    found = torch.autograd.grad(total, [*leaves, pool[-1]], retain_graph=not turn)
                    told.append([array(g) for g in found])
                elif way == "create":
                    found = torch.autograd.grad(total, leaves, create_graph=True)
                    told.append([array(g) for g in found])
                else:
                    total.backward(retain_graph=way == "retain")
            except RuntimeError as error:
                told.append((str(error), error.code, error.reason))
            told.append(life(pool))
        grads = [array(t.grad) for t in pool if t.is_leaf or t.retains_grad]
        return log, told, grads

    before = idle()
    compiled, python = on_both(once)
    assert idle() == before
    for ours, theirs in zip(compiled, python, strict=True):
        assert same(ours, theirs)


# ------------------------------------------------------------------------------ accumulation


def test_a_gradient_is_added_into_the_same_array() -> None:
    def once() -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (x * 3).sum().backward()
        held, memory = x.grad, x.grad.data_ptr()
        (x * x).sum().backward()
        assert x.grad is held and held.data_ptr() == memory
        return held._version, array(held), held._cell.writer

    compiled, python = on_both(once)
    assert same(compiled, python)
    assert compiled[0] == 1


@pytest.mark.parametrize("make", [lambda x: x + 0, lambda x: x.view(2, 1), lambda x: x.t()])
def test_gradients_share_no_memory(make: Callable[[Any], Any]) -> None:
    """Leaves and the caller's gradient are one array: each has to have its own in the end.

    PyTorch keeps what comes through a view although the caller has it too. Then a third `backward`
    gives 4 in place of 3 times the gradient.
    """

    def once() -> Any:
        a, b = torch.ones(2, 1, requires_grad=True), torch.ones(2, 1, requires_grad=True)
        seed = torch.full(make(a).shape, 2.0)
        before = array(seed).copy()
        (make(a) + make(b)).backward(seed)
        assert not np.shares_memory(a.grad.numpy(), b.grad.numpy())
        assert not np.shares_memory(a.grad.numpy(), seed.numpy())
        b.grad = None
        for _ in range(3):
            make(b).backward(seed)
        a.grad.mul_(5)
        assert same(array(seed), before) and b.grad.tolist() == [[6.0], [6.0]]

    on_both(once)


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda x: x.view(6, 2), True),
        (lambda x: x.view(12)[None], True),
        (lambda x: x.t().t().reshape(2, 2, 3), True),
        (lambda x: x.t(), False),  # other strides
        (lambda x: torch.cat((x, x.detach())), False),  # part of a larger array
        (lambda x: x.sum().expand(3, 4), False),
    ],
)
def test_a_view_of_a_gradient_that_nobody_else_has_is_kept(
    make: Callable[[Any], Any], kept: bool
) -> None:
    def once() -> Any:
        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        found = (make(x) * 2).sum()
        found.backward()
        first = array(x.grad).copy()
        assert x.grad._array.strides == x._array.strides
        assert x.grad._array.base is None or (kept and x.grad._array.base.nbytes == first.nbytes)
        (make(x) * 2).sum().backward()
        assert same(array(x.grad), 2 * first)
        return (x.grad._array.base is None) is not kept, first

    compiled, python = on_both(once)
    assert same(compiled, python) and compiled[0]


def test_a_captured_gradient_is_not_written_later() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    total = (h + h + h).sum()
    inner, outer = torch.autograd.grad(total, [h, x])
    assert (inner.tolist(), outer.tolist()) == ([3.0, 3.0], [6.0, 6.0])


def test_a_hook_may_keep_what_it_sees() -> None:
    kept: list[Any] = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.register_hook(kept.append)
    (h * 3 + h).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [4.0, 4.0]


def test_the_layout_of_a_leaf() -> None:
    def once() -> Any:
        x = torch.ones(3, 2).t().requires_grad_()
        (x * torch.arange(6.0).reshape(2, 3)).sum().backward()
        return x.grad.stride(), array(x.grad)

    compiled, python = on_both(once)
    assert same(compiled, python)


# ------------------------------------------------------------------------------------- memory


def test_nothing_is_kept_after_a_walk() -> None:
    def watch(program: Callable[[Any], Any]) -> tuple[list[Any], int]:
        x = torch.ones(64, requires_grad=True)
        refs: list[Any] = []
        h = torch.tanh(x * 2)
        refs += [weakref.ref(h), weakref.ref(h.grad_fn), weakref.ref(h.grad_fn.edges[0])]
        program((h * h).sum())
        del h
        return [ref() for ref in refs], sys.getrefcount(x._array)

    gc.disable()
    try:
        for program in (
            lambda loss: loss.backward(),
            lambda loss: torch.autograd.backward([loss, loss * 2]),
            lambda loss: loss.backward(retain_graph=True),
        ):
            compiled, python = on_both(lambda program=program: watch(program))
            assert compiled == python
            assert compiled[0] == [None, None, None]
    finally:
        gc.enable()


def test_a_failed_walk_keeps_nothing() -> None:
    refs: list[Any] = []

    def keep(gradient: Any) -> None:
        refs.append(weakref.ref(gradient._array))

    def fail(gradient: Any) -> None:
        raise ZeroDivisionError

    x = torch.ones(8, requires_grad=True)
    h = x * 2
    h.register_hook(fail)
    other = x * 3
    other.register_hook(keep)
    before = idle()
    with pytest.raises(ZeroDivisionError):
        (h * 5 + other * 7).sum().backward()
    assert idle() == before
    assert [ref() for ref in refs] == [None]


def test_arrays_are_given_back_over_many_steps() -> None:
    def step() -> None:
        x = torch.ones(50, requires_grad=True)
        y = (torch.tanh(x) * x).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        slope.sum().backward()

    for _ in range(5):
        step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        step()
    gc.collect()
    assert len(gc.get_objects()) - before < 20


# ------------------------------------------------------------------------------ depth, threads


@pytest.mark.slow
def test_a_million_nodes() -> None:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.item() == 1.0


def test_backward_in_a_hook_in_a_hook() -> None:
    """So deep that it goes on in another thread, twice."""

    def once() -> Any:
        leaf = torch.ones(2, requires_grad=True)
        depths: list[int] = []

        def again(depth: int) -> Callable[[Any], None]:
            def hook(gradient: Any) -> None:
                depths.append(STATE.depth)
                if depth < 90:
                    with torch.enable_grad():
                        y = leaf * 2
                        y.register_hook(again(depth + 1))
                        total = y.sum()
                    total.backward()

            return hook

        y = leaf * 2
        y.register_hook(again(0))
        y.sum().backward()
        assert leaf.grad.tolist() == [182.0, 182.0]
        return depths

    before = idle()
    compiled, python = on_both(once)
    assert idle() == before
    assert compiled == python


@pytest.mark.parametrize("size", [3, 10_000])
def test_threads_walk_one_graph(size: int) -> None:
    x = torch.ones(size, requires_grad=True)
    total = (torch.tanh(x * 2) * x).sum()
    total.backward(retain_graph=True)
    expected = x.grad.numpy() * 40
    x.grad = None
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                total.backward(retain_graph=True)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-4)


# ----------------------------------------------------------------------------------- interrupts


@pytest.mark.parametrize("way", ["backward", "inputs", "create_graph"])
def test_interrupted_at_every_node(way: str) -> None:
    """A signal that arrives while a node runs ends the walk there; nothing stays behind."""

    def interrupt(gradient: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    before = idle()
    for place in range(6):
        x = torch.tensor([0.5, 1.5], requires_grad=True)
        made = [x]
        for _ in range(6):
            made.append(torch.tanh(made[-1] * 1.5))
        made[place].register_hook(interrupt)
        with pytest.raises(KeyboardInterrupt):
            if way == "backward":
                made[-1].sum().backward()
            elif way == "inputs":
                made[-1].sum().backward(inputs=[x])
            else:
                torch.autograd.backward(made[-1].sum(), create_graph=True)
        assert idle() == before
        if place:
            assert x.grad is None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an interval timer")
def test_a_signal_ends_a_long_walk_soon() -> None:
    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    x = torch.ones(3, requires_grad=True)
    y = x
    for _ in range(60_000):
        y = y * 1.0
    total = y.sum()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                while True:
                    total.backward(retain_graph=True)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert STATE.call is None and STATE.depth == 0 and ACTIVE.calls == 0


def test_another_thread_gets_its_turn() -> None:
    """A walk in C must not keep the interpreter to itself."""
    x = torch.ones(3, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    total = y.sum()
    turns: list[int] = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            turns.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        began = len(turns)
        total.backward()
        taken = len(turns) - began
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert taken > 0


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("mistake", ["twice", "changed", "shape", "unused", "scalar"])
def test_mistakes_are_told_in_the_same_words(mistake: str) -> None:
    def once() -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x.exp()
        total = (h * h).sum()
        try:
            if mistake == "twice":
                total.backward()
                total.backward()
            elif mistake == "changed":
                h.add_(1)
                total.backward()
            elif mistake == "shape":
                total.backward(torch.ones(3))
            elif mistake == "unused":
                torch.autograd.grad(total, torch.ones(1, requires_grad=True))
            else:
                h.backward()
        except RuntimeError as error:
            notes = "\n".join(getattr(error, "__notes__", []))
            words = "".join(c for c in notes if not c.isdigit())
            return type(error), str(error).splitlines()[0], words
        raise AssertionError("no error")

    compiled, python = on_both(once)
    assert compiled == python


def test_the_switch_is_a_switch() -> None:
    with switched(False):
        assert core._core.switch(False) is False
    assert core._core.switch(True) is True
