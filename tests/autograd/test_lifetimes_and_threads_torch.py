"""How long nodes, tensors and hooks live, and what threads share; scenarios for both libraries."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.autograd.outcomes import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SCENARIOS = []


def scenario(function):
    SCENARIOS.append(pytest.param(function, id=function.__name__))
    return function


@pytest.mark.parametrize("run", SCENARIOS)
def test_scenario(run):
    assert_same(run, torch)


def leaf(lib, *values, **options):
    return lib.tensor(list(values), requires_grad=True, **options)


class Mark:
    """Something whose life can be watched."""


def doubling(lib):
    class Doubling(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * lib.ones_like(*ctx.saved_tensors)

    return Doubling.apply


@scenario
def hooks_without_cycles_die_at_once(lib, log):
    custom = doubling(lib)

    def run(maker, kind, calls):
        x, mark = leaf(lib, 1.0, 2.0), Mark()
        y = maker(x)
        reference, node = weakref.ref(mark), y.grad_fn
        if kind == "tensor":
            y.register_hook(lambda grad: mark and None)
        elif kind == "node":
            node.register_hook(lambda *grads: mark and None)
        elif kind == "pre":
            node.register_prehook(lambda *grads: mark and None)
        elif kind == "leaf":
            x.register_post_accumulate_grad_hook(lambda t: mark and None)
        if calls:
            y.sum().backward(retain_graph=calls == "retain")
        return reference

    gc.collect()
    gc.disable()
    try:
        for maker, kind, calls in itertools.product(
            (lambda x: x * 2, custom),
            ("none", "tensor", "node", "pre", "leaf"),
            ("", "once", "retain"),
        ):
            log(kind, calls, run(maker, kind, calls)())
    finally:
        gc.enable()


@scenario
def hooks_with_cycles_are_collected(lib, log):
    custom = doubling(lib)

    def run(maker, kind, calls):
        x, mark = leaf(lib, 1.0, 2.0), Mark()
        y = maker(x)
        node = y.grad_fn

        def hook(*_):
            return (node, mark) and None

        (y.register_hook if kind == "tensor" else node.register_hook)(hook)
        if calls:
            y.sum().backward()
        return weakref.ref(mark)

    for maker, kind, calls in itertools.product(
        (lambda x: x * 2, custom, lambda x: (x * 2).split(1)[0]),
        ("tensor", "node"),
        (True, False),
    ):
        reference = run(maker, kind, calls)
        gc.collect()
        log(kind, calls, reference())


@scenario
def cycles_that_the_graph_holds(lib, log):
    custom = doubling(lib)
    for maker, kind in itertools.product((lambda x: x.clone(), custom), ("tensor", "node")):
        count = []

        def scope(maker=maker, kind=kind, count=count):
            y, mark = maker(leaf(lib, 1.0)), Mark()
            node = y.grad_fn

            def hook(*_):
                count.append((node, mark) and 1)

            (y.register_hook if kind == "tensor" else node.register_hook)(hook)
            return y.clone(), weakref.ref(mark)

        out, reference = scope()
        out.backward(lib.ones(1), retain_graph=True)
        gc.collect()
        out.backward(lib.ones(1), retain_graph=True)
        log(len(count), reference() is not None)
        count.clear()
        del out
        gc.collect()
        log(reference() is None)


@scenario
def saved_tensors_live_as_long_as_needed(lib, log):
    custom = doubling(lib)
    for maker in (lambda x: x**2, custom, lambda x: x.sin()):
        for calls in ("", "once", "retain"):
            x = leaf(lib, 1.0)
            middle = x + 1
            reference = weakref.ref(middle)
            out = maker(middle).sum()
            del middle
            alive = [reference() is not None]
            if calls:
                out.backward(retain_graph=calls == "retain")
            alive.append(reference() is not None)
            del out
            alive.append(reference() is not None)
            log(calls, alive)
    for maker in (lambda x: x.exp(), custom):
        out = maker(leaf(lib, 1.0))
        reference = weakref.ref(out)
        out.sum().backward()
        del out
        log(reference())


@scenario
def nodes_shared_by_outputs(lib, log):
    class Halves(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1].clone(), x[1:].clone()

        @staticmethod
        def backward(ctx, first, second):
            return lib.cat([first, second])

    for maker in (Halves.apply, lambda x: (x * 2).split(1)):
        first, second = maker(leaf(lib, 1.0, 2.0))
        mark = Mark()
        first.grad_fn.metadata["mark"] = mark
        reference = weakref.ref(mark)
        del mark, first
        log(reference() is not None)
        second.sum().backward(retain_graph=True)
        del second
        log(reference() is not None)


@scenario
def deep_chains(lib, log):
    custom = doubling(lib)
    for step in (lambda x: x + 1, lambda x: x * 0.999, custom):
        x = leaf(lib, 1.0)
        out = x
        for _ in range(3000):
            out = step(out)
        out.sum().backward()
        log(x.grad is not None)
        out = x
        for _ in range(3000):
            out = step(out)
        del out


def in_threads(count, function, *args):
    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(function, *args) for _ in range(count)]]


@scenario
def threads_with_shared_leaves(lib, log):
    x = lib.ones(2, 2, requires_grad=True)

    def train():
        y = (x + 3) * (x + 4) * 0.5
        y.sum().backward()

    in_threads(5, train)
    log(x.grad)

    def derive():
        y = (x + 3) * (x + 4) * 0.5
        return lib.autograd.grad(y.sum(), x)[0]

    log(in_threads(5, derive))
    log([found is x.grad for found in in_threads(4, lambda: x.grad)])


@scenario
def threads_with_shared_graphs(lib, log):
    x = lib.ones(2, requires_grad=True)
    middle = x + x**2

    def again():
        (middle + middle**2).sum().backward(retain_graph=True)

    in_threads(5, again)
    log(x.grad)
    x = lib.ones(2, requires_grad=True)
    middle = x + x**2

    def once():
        try:
            (middle + middle**2).sum().backward()
        except RuntimeError as error:
            return "Specify retain_graph=True" in str(error)
        return "done"

    found = in_threads(5, once)
    log("done" in found, set(found) <= {"done", True})


@scenario
def states_are_per_thread(lib, log):
    graph = lib.autograd.graph
    seen = []

    def observe():
        y = leaf(lib, 2.0) ** 2
        seen.append((lib.is_grad_enabled(), lib.is_inference_mode_enabled(), y.requires_grad))

    for context in (
        lib.no_grad(), lib.inference_mode(), lib.set_grad_enabled(False),
        graph.saved_tensors_hooks(lambda t: seen.append("packed") or t, lambda t: t),
        lib.autograd.set_detect_anomaly(True, check_nan=False),
    ):  # fmt: skip
        with context:
            thread = threading.Thread(target=observe)
            thread.start()
            thread.join()
    log(seen)
    switch = lib.autograd.set_multithreading_enabled
    log(lib.autograd.is_multithreading_enabled())
    with switch(False):
        log(lib.autograd.is_multithreading_enabled())
        switch(True)
        log(lib.autograd.is_multithreading_enabled())
    log(lib.autograd.is_multithreading_enabled())
    switch(False)
    log(lib.autograd.is_multithreading_enabled())
    switch(True)
    log(lib.autograd.is_multithreading_enabled())


@scenario
def multiple_gradients_in_threads(lib, log):
    for mode in ("all", "any"):
        a, b, c, d = (leaf(lib, 1.0, 2.0) for _ in range(4))
        calls, lock = [], threading.Lock()

        def hook(grads, calls=calls, lock=lock, mode=mode):
            with lock:
                calls.append([g is not None for g in grads] if mode == "all" else grads)

        handle = lib.autograd.graph.register_multi_grad_hook((a, b, c, d), hook, mode=mode)
        out = (b * c).sum()
        in_threads(5, lambda out=out, b=b, c=c: out.backward(inputs=(b, c), retain_graph=True))
        log(len(calls), calls)
        handle.remove()
        out.backward(inputs=(b, c))
        log(len(calls))


@scenario
def multiple_gradients(lib, log):
    graph = lib.autograd.graph

    class Failing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("on purpose")

    a, b = leaf(lib, 1.0) * 2, doubling(lib)(leaf(lib, 1.0))
    c, d = leaf(lib, 3.0), leaf(lib, 4.0)
    calls = []
    graph.register_multi_grad_hook((a, b, c, d), lambda grads: calls.append(tuple(grads)))
    out = b * c
    for inputs in ((b, c), (a, d), (a, c), (b,)):
        out.sum().backward(inputs=inputs, retain_graph=True)
        log(calls)
        calls.clear()
    log.attempt(lambda: (Failing.apply(b) * c).sum().backward(inputs=(b, c)))
    log(calls)
    log.attempt(lambda: graph.register_multi_grad_hook((c, d), print, mode="some"))
    log.attempt(lambda: graph.register_multi_grad_hook((), print))
    log.attempt(lambda: graph.register_multi_grad_hook((lib.ones(1),), print))
    log.attempt(lambda: graph.register_multi_grad_hook((c, d), lambda g: g, mode="any"))
    order = []
    x = leaf(lib, 1.0)
    z = x * 3
    parts = z.sin(), z.cos()
    z.register_hook(lambda g: order.append("plain"))
    handle = graph.register_multi_grad_hook(parts, lambda g: order.append("any"), mode="any")
    (parts[0] + parts[1]).sum().backward(retain_graph=True)
    log(order)
    handle.remove()
    (parts[0] + parts[1]).sum().backward()
    log(order)


@scenario
def callbacks_of_the_engine(lib, log):
    engine = lib.autograd.Variable._execution_engine
    order = []

    class Outer(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, reenter):
            ctx.reenter = reenter
            return x.clone()

        @staticmethod
        @lib.autograd.function.once_differentiable
        def backward(ctx, grad):
            def adds():
                order.append("first")
                engine.queue_callback(lambda: order.append("second"))

            engine.queue_callback(adds)
            if ctx.reenter:
                with lib.enable_grad():
                    inner = grad.detach().requires_grad_()
                    Outer.apply(inner, False).sum().backward()
                order.append("after inner")
            order.append("backward")
            return grad, None

    for reenter in (True, False):
        Outer.apply(leaf(lib, 1.0), reenter).sum().backward()
        log(order)
        order.clear()
    log.attempt(lambda: engine.queue_callback(print))


@scenario
def modes_and_gradients_in_reentrant_calls(lib, log):
    class Reentrant(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            before = lib.is_grad_enabled()
            with lib.enable_grad():
                inner = lib.ones(1, requires_grad=True)
                (found,) = lib.autograd.grad(inner**3, inner, grad)
                log(lib.is_grad_enabled())
            log(before, lib.is_grad_enabled())
            return found

    x = leaf(lib, 1.0)
    Reentrant.apply(x).sum().backward()
    log(x.grad)
    y = leaf(lib, 2.0)
    handles = []

    def penalty(grad):
        handles.pop().remove()
        y.grad = None
        with lib.enable_grad():
            inner = grad.detach().requires_grad_()
            (inner * 2 + y.detach()).sum().backward()
        return inner.grad + grad

    handles.append(y.register_hook(penalty))
    (y * y).sum().backward()
    log(y.grad)


@scenario
def chosen_order(lib, log):
    x, y, z = leaf(lib, 1.0), leaf(lib, 1.0), leaf(lib, 1.0)
    a, b = x + y, y + z
    c = a + b
    for node, number in ((a.grad_fn, 100), (b.grad_fn, 99), (c.grad_fn, 98)):
        node._set_sequence_nr(number)
        log(node._sequence_nr())
    order = []
    for name, tensor in (("a", a), ("b", b), ("c", c)):
        tensor.register_hook(lambda grad, name=name: order.append(name))
    c.sum().backward()
    log(order, x.grad, y.grad, z.grad)
