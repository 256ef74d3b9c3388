"""Checkpoints of unusual functions, callbacks, and hooks for several gradients."""

from __future__ import annotations

import contextvars
import threading
import weakref

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


@scenario
def checkpoints_of_many_kinds(lib, log):
    checkpoint = lib.utils.checkpoint.checkpoint
    x = leaf(lib, 1.0, 2.0)
    for reentrant in (True, False):

        def run(function, *args, reentrant=reentrant, **kwargs):
            return checkpoint(function, *args, use_reentrant=reentrant, **kwargs)

        log.attempt(lambda run=run: run(lambda a, b: (a * b, None, "text"), x, 3)[1:])
        log.attempt(lambda run=run: run(lambda a, k: a * k, x, k=3))
        shown = run(lambda a: a.view(-1), x)
        log(shown._is_view(), shown.grad_fn.name())
        log(run(lambda a: a.detach(), x).requires_grad)
        with lib.no_grad():
            log(run(lambda a: a.sin(), x).requires_grad)
        other = leaf(lib, 2.0, 3.0)
        log(run(lambda a, other=other: a * other, lib.ones(2)).requires_grad)
        nested = run(lambda a, run=run: run(lambda b: b.sin(), a.exp()).cos(), x)
        nested.sum().backward()
        log(x.grad)
        written = run(lambda a: a.clone().mul_(2).sin(), x * 1)
        written.sum().backward()
        log(x.grad)
        log.attempt(lambda run=run: lib.autograd.grad(run(lambda a: a.sin(), x * 1).sum(), x))
        x.grad = None


@scenario
def checkpoints_and_writes_to_their_inputs(lib, log):
    checkpoint = lib.utils.checkpoint.checkpoint
    for reentrant in (True, False):
        x = leaf(lib, 1.0, 2.0)
        y = x * 1
        result = checkpoint(lambda a: a.sin().exp(), y, use_reentrant=reentrant)
        with lib.no_grad():
            y.add_(1)
        log.attempt(lambda result=result: result.sum().backward())
        log(x.grad)


@scenario
def derivatives_of_checkpoints(lib, log):
    checkpoint = lib.utils.checkpoint.checkpoint

    def run(a):
        return checkpoint(lambda b: b.sin().exp(), a, use_reentrant=False)

    x = leaf(lib, 1.0, 2.0, dtype=lib.float64)
    gradient = run(x)
    for _ in range(3):
        (gradient,) = lib.autograd.grad(gradient.sum(), x, create_graph=True)
        log(gradient)
    log(lib.autograd.gradcheck(run, x), lib.autograd.gradgradcheck(run, x))
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        log(forward.unpack_dual(run(forward.make_dual(x, lib.ones_like(x)))).tangent)


@scenario
def contexts_leave_when_something_fails(lib, log):
    checkpoint = lib.utils.checkpoint.checkpoint
    inside = contextvars.ContextVar("inside", default="outside")
    seen = []

    class Context:
        def __init__(self, name, quiet=False):
            self.name, self.quiet = name, quiet

        def __enter__(self):
            self.token = inside.set(self.name)

        def __exit__(self, kind, error, place):
            seen.append((self.name, kind and kind.__name__, str(error)))
            inside.reset(self.token)
            return self.quiet

    calls = []

    def second_fails(a):
        calls.append(inside.get())
        if len(calls) == 2:
            raise ValueError("again")
        return a.exp()

    def fails(a):
        raise ValueError("at once")

    x = leaf(lib, 1.0)
    for quiet in (False, True):
        options = {
            "use_reentrant": False,
            "context_fn": lambda quiet=quiet: (Context("first", quiet), Context("again", quiet)),
        }
        log.attempt(lambda options=options: checkpoint(fails, x, **options))
        calls.clear()
        result = checkpoint(second_fails, x, **options)
        log.attempt(lambda result=result: result.backward())
        log(calls, seen, inside.get())
        seen.clear()
    options = {"use_reentrant": True, "context_fn": lambda: (Context("a"), Context("b"))}
    log.attempt(lambda: checkpoint(lib.sin, x, **options))
    log.attempt(lambda: checkpoint(lib.sin, x, use_reentrant=True, debug=True))
    log.attempt(
        lambda: checkpoint(lib.sin, x, use_reentrant=False, determinism_check="none?").backward()
    )


@scenario
def callbacks_that_work(lib, log):
    queue = lib.autograd.Variable._execution_engine.queue_callback
    seen = []
    x = leaf(lib, 1.0)
    x.register_hook(lambda g: queue(lambda: seen.append(x.grad.item())))
    x.register_post_accumulate_grad_hook(lambda p: seen.append("after"))
    (x * 2).backward()
    log(seen)
    # a backward pass within a callback
    y = leaf(lib, 1.0)

    def once_more():
        with lib.enable_grad():
            (y * 3).backward()
        seen.append(y.grad.item())

    def only_once(gradient):
        handle.remove()
        queue(once_more)

    handle = y.register_hook(only_once)
    (y * 2).backward()
    log(seen, y.grad)
    log.attempt(lambda: queue(once_more))
    z = leaf(lib, 1.0)
    z.register_hook(lambda g: queue(lambda: lib.ones(2).view(3)))
    log.attempt(lambda: (z * 2).backward())


@scenario
def several_gradients(lib, log):
    register = lib.autograd.graph.register_multi_grad_hook
    a, b = leaf(lib, 1.0), leaf(lib, 2.0)
    seen = []
    register((a, b), lambda found: seen.append([None if g is None else g.item() for g in found]))
    register((a, b), lambda g: seen.append(g.item()), mode="any")
    for loss in (a * b, a * a, b * 3):
        loss.backward()
        log(seen)
        seen.clear()
    with lib.no_grad():
        log.attempt(lambda: register((a * 2,), print))
    c = a * 2

    def within(found):
        with lib.enable_grad():
            (leaf(lib, 3.0) * 2).backward()
        seen.append(lib.is_grad_enabled())

    register((c,), within)
    (c * b).backward()
    log(seen)
    seen.clear()
    d = a * 2
    register((d,), lambda found: seen.append(found[0].requires_grad))
    lib.autograd.grad(d * d, a, create_graph=True)
    log(seen)
    seen.clear()
    lib.autograd.backward([a * 1, b * 1], [lib.ones(1), lib.ones(1)])
    log(seen)
    for wrong in ({"mode": "some"}, {"mode": None}):
        log.attempt(lambda wrong=wrong: register((a, b), print, **wrong))


@scenario
def gradients_seen_by_threads(lib, log):
    x = leaf(lib, 1.0, 2.0)
    (x**2).sum().backward()
    start = threading.Barrier(4)
    found = []

    def read():
        start.wait()
        found.append(weakref.ref(x.grad))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log([reference() is x.grad for reference in found])


@scenario
def given_gradients_are_left_alone(lib, log):
    x = lib.ones(2, 2, requires_grad=True)
    outputs = [x.clone(), x.clone(), x.gather(0, lib.tensor([[0, 0]])), x.t(), x.view(4)]
    given = [lib.full(tuple(y.shape), float(i + 1)) for i, y in enumerate(outputs)]
    lib.autograd.backward(outputs, given)
    log(given, x.grad)
