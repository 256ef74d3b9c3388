"""Checkpoints: what lives how long, contexts, sequences and random numbers; both libraries."""

from __future__ import annotations

import contextlib
import itertools
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
    # In double precision: rounding differs in the seventh digit of long chains.
    return lib.tensor(list(values), requires_grad=True, dtype=lib.double, **options)


def checkpointing(lib):
    """The module of checkpoints, and `checkpoint` without reentrance."""
    module = lib.utils.checkpoint

    def checkpoint(function, *args, use_reentrant=False, **options):
        return module.checkpoint(function, *args, use_reentrant=use_reentrant, **options)

    return module, checkpoint


@scenario
def graphs_die(lib, log):
    _, checkpoint = checkpointing(lib)

    class Mark:
        pass

    def nodes(root):
        seen, found = [root], []
        while seen:
            node = seen.pop()
            found.append(node)
            seen.extend(n for n, _ in node.next_functions if n is not None and n not in found)
        return found

    def marks(function):
        x = lib.tensor(0.5, requires_grad=True)
        out, found = function(x), []
        for node in nodes(out.grad_fn):
            mark = Mark()
            node.metadata["mark"] = mark
            found.append(weakref.ref(mark))
        return found

    def derived(x):
        y = checkpoint(lambda t: t.sin().exp().sin(), x)
        return lib.autograd.grad(y, x, create_graph=True)[0]

    for function in (
        lambda x: checkpoint(lambda t: t.sin().exp(), x),
        derived,
        lambda x: checkpoint(lambda t: checkpoint(lambda s: s.sin().cos(), t).exp(), x),
    ):
        found = marks(function)
        log(len(found) > 1, [mark() for mark in found])


@scenario
def identity_of_saved_inputs(lib, log):
    _, checkpoint = checkpointing(lib)
    seen = []

    class Keeping(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, constant):
            ctx.save_for_backward(constant)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.extend(ctx.saved_tensors)
            return grad, None

    x, constant = leaf(lib, 1.0), lib.ones(1, dtype=lib.double)
    Keeping.apply(x, constant).backward(lib.ones(1, dtype=lib.double))
    checkpoint(Keeping.apply, x, constant).backward(lib.ones(1, dtype=lib.double))
    log([tensor is constant for tensor in seen])


@scenario
def contexts_of_both_runs(lib, log):
    _, checkpoint = checkpointing(lib)

    @contextlib.contextmanager
    def noted(name):
        log("enter", name)
        yield
        log("leave", name)

    x = leaf(lib, 1.0)
    for stop in (True, False):
        y = checkpoint(
            lambda t: t.sin().exp(),
            x,
            context_fn=lambda: (noted("forward"), noted("again")),
            early_stop=stop,
        )
        log("between")
        y.sum().backward()
    log.attempt(lambda: checkpoint(lib.exp, x, context_fn=lambda: (noted("one"),)))
    log.attempt(lambda: checkpoint(lib.exp, x, context_fn=3))


@scenario
def sequences(lib, log):
    layers = [lambda x: x.sin(), lambda x: x * 2, lambda x: x.exp(), lambda x: x + 1]
    for segments, reentrant in itertools.product((1, 2, 3, 4, 5), (True, False)):
        x = leaf(lib, 0.5)

        def run(x=x, segments=segments, reentrant=reentrant):
            return lib.utils.checkpoint.checkpoint_sequential(
                layers, segments, x, use_reentrant=reentrant
            )

        out = log.attempt(run)
        if out is not None:
            out.sum().backward()
            log(x.grad)
    log.attempt(lambda: lib.utils.checkpoint.checkpoint_sequential(layers, 2, leaf(lib, 1.0)))


@scenario
def hooks_for_saved_tensors_around_and_inside(lib, log):
    _, checkpoint = checkpointing(lib)
    graph = lib.autograd.graph
    x = leaf(lib, 1.5, 2.0)
    with graph.save_on_cpu():
        h = checkpoint(lambda t: t.pow(2).pow(2), x.pow(2))
        around = h.pow(2)
    around.sum().backward()
    log(x.grad)
    x.grad = None

    def inside(t):
        h = t.pow(2)
        with graph.save_on_cpu(), graph.saved_tensors_hooks(lambda s: s * 2, lambda s: s / 2):
            h = h.pow(2).pow(2)
        return h.pow(2)

    checkpoint(inside, x).sum().backward()
    log(x.grad)


@scenario
def random_numbers_are_the_same(lib, log):
    _, checkpoint = checkpointing(lib)
    for reentrant, preserve in itertools.product((True, False), (True, False)):
        drawn = []

        def noisy(t, drawn=drawn):
            noise = lib.rand(2)
            drawn.append(noise)
            return (t * noise).exp()

        x = leaf(lib, 1.0, 2.0)
        y = checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=preserve)
        between = lib.rand(1)
        y.sum().backward()
        log(len(drawn), lib.equal(drawn[0], drawn[-1]), bool(between.item() == lib.rand(1).item()))
