"""Inference mode in every combination, edges of graphs, and `.grad` inside transforms."""

from __future__ import annotations

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
    return lib.tensor(list(values), requires_grad=True, **options)


WRITES = (
    lambda t: t.add_(2),
    lambda t: t.transpose_(0, 1),
    lambda t: t.resize_(1, 2),
    lambda t: t.resize_as_(t.clone().view(2, 1)),
    lambda t: t.copy_(t.detach() * 2),
    lambda t: t.zero_(),
    lambda t: t.requires_grad_(),
    lambda t: t.detach_(),
)


@scenario
def decorators(lib, log):
    def square(x):
        log(lib.is_inference_mode_enabled())
        return x * x

    for requires in (True, False):
        x = lib.ones(2, requires_grad=requires)
        for decorated in (
            lib.inference_mode(square),
            lib.inference_mode(mode=square),
            lib.inference_mode()(square),
            lib.inference_mode(True)(square),
            lib.inference_mode(mode=False)(square),
        ):
            out = decorated(x)
            log(out, out.is_inference(), decorated.__name__)
    with lib.inference_mode():
        with lib.inference_mode(False):
            log(lib.is_inference_mode_enabled(), lib.is_grad_enabled())
        with lib.enable_grad():
            log(lib.is_inference_mode_enabled(), lib.is_grad_enabled())
    log(lib.is_inference_mode_enabled(), lib.is_grad_enabled())


@scenario
def writes_inside_and_outside(lib, log):
    for made, written, requires in itertools.product((True, False), repeat=3):
        refused = made and not written  # PyTorch writes before it refuses, which is not copied
        if refused and requires:
            continue
        for number, write in enumerate(WRITES):
            with lib.inference_mode(made):
                x = lib.ones(1, 2, requires_grad=requires and made)
            if requires and not made:
                x = lib.ones(1, 2, requires_grad=True).clone()
            log(made, written, requires, number)
            with lib.inference_mode(written):
                log.attempt(lambda write=write, x=x: write(x))
                if refused:
                    continue
                log.attempt(lambda write=write, x=x: write(x))
            log.facts(x)
            log.facts_of(lambda x=x: x.view(-1))
            log.facts_of(lambda x=x: x * x)


@scenario
def views_inside_written_outside(lib, log):
    views = (lambda t: t.view(-1), lambda t: t.view_as(t), lambda t: t.unbind()[0], lambda t: t[0])
    for requires, view, write in itertools.product((True, False), views, WRITES[:2] + WRITES[4:6]):
        base = lib.ones(1, 2, requires_grad=requires).clone()
        with lib.inference_mode():
            inner = view(base)
            again = inner.view(-1)
        log.facts(inner, again)
        log.facts_of(lambda inner=inner: inner * inner)
        log.attempt(lambda write=write, inner=inner: write(inner))
        log.attempt(lambda write=write, base=base: write(base))
        log.facts_of(lambda inner=inner: inner.view(-1))
        log.facts(base)


@scenario
def mixtures(lib, log):
    class Saving(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    for requires in (True, False):
        normal = lib.ones(2, requires_grad=requires)
        with lib.inference_mode():
            inference = lib.ones(2, requires_grad=requires)
        out = inference.add(normal)
        log.facts(out)
        if requires:
            out.backward(lib.ones(2))
            log(inference.grad, normal.grad)
        for combine in (
            lambda a, b: a * b, lambda a, b: lib.stack([a, b]), lambda a, b: lib.cat([a, b]),
            lambda a, b: a @ b, lambda a, b: a.view_as(b), lambda a, b: b.view_as(a),
            lambda a, b: b.clone().mul_(a), lambda a, b: lib.mul(b, b, out=a),
            lambda a, b: lib.where(a > 0, a, b), lambda a, b: b[a.long() * 0],
            lambda a, b: Saving.apply(a, b), lambda a, b: Saving.apply(b, a),
        ):  # fmt: skip
            log.facts_of(lambda c=combine, i=inference, n=normal: c(i, n))
    used = lib.ones(2, requires_grad=True).clone()
    out = used * used
    with lib.inference_mode():
        used.add_(2)
    log(used.is_inference())
    log.attempt(lambda: out.backward(lib.ones(2)))


@scenario
def backward_inside(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = (x * x).sum()
    with lib.inference_mode():
        log.attempt(lambda: y.backward())
        log(x.grad.is_inference())
        z = x * 2
        log.attempt(lambda: z.sum().backward())
    log.attempt(lambda: (x * x).sum().backward())
    with lib.inference_mode():
        y = lib.ones(2, requires_grad=True)
    y.detach_()
    log.facts(y)


@scenario
def edges_of_tensors(lib, log):
    edge_of = lib.autograd.graph.get_gradient_edge
    x = leaf(lib, 1.0, 2.0)
    y = x * 2
    parts = y.unbind()
    for tensor in (x, y, *parts):
        edge = edge_of(tensor)
        log(type(edge).__name__, edge.node.name(), edge.output_nr, len(edge), edge._fields)
    log(edge_of(x).ownership_token is None, edge_of(y).ownership_token is None)
    log(edge_of(y) == edge_of(y), edge_of(y).node is y.grad_fn)
    log.attempt(lambda: edge_of(lib.ones(1)))
    log.attempt(lambda: edge_of(1))
    edge = edge_of(y)
    out = (y * y).sum()
    log(lib.autograd.grad(out, edge, retain_graph=True))
    log(lib.autograd.grad(out, (edge, x), retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(edge, x, lib.ones(2), retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(edge, x, retain_graph=True))
    log.attempt(lambda: lib.autograd.backward(edge, lib.ones(2), retain_graph=True))
    log.attempt(lambda: lib.autograd.backward(edge_of(out), lib.tensor(1.0), retain_graph=True))
    log.attempt(lambda: lib.autograd.backward([edge, out], [lib.ones(2), None], retain_graph=True))
    log.attempt(lambda: out.backward(inputs=(edge,), retain_graph=True))
    log(x.grad)
    alone = lib.autograd.graph.GradientEdge(y.grad_fn, 0)
    log(alone.ownership_token, lib.autograd.grad(out, alone))


@scenario
def edges_keep_leaves_alive(lib, log):
    edge_of = lib.autograd.graph.get_gradient_edge
    x = leaf(lib, 1.0)
    y = x.view_as(x)
    reference = weakref.ref(y)
    edge = edge_of(y)
    del y
    log(reference() is None)
    log(lib.autograd.grad(edge, x, lib.ones(1)))

    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    z = Twice.apply(x)
    edge = edge_of(z)
    node = weakref.ref(z.grad_fn)
    del z
    log(node() is not None)
    log(lib.autograd.grad(edge, x, lib.ones(1)))
    del edge
    log(node() is None)


@scenario
def gradients_inside_transforms(lib, log):
    func = lib.func

    def accumulate(x):
        inner = x.detach().clone().requires_grad_()
        (inner**2).sum().backward()
        return inner.grad

    batch = lib.arange(6.0).view(3, 2)
    log.attempt(lambda: func.vmap(accumulate)(batch))
    log.attempt(lambda: lib.autograd.grad((leaf(lib, 1.0) ** 2).sum(), leaf(lib, 1.0)))
    log.attempt(lambda: func.vmap(lambda x: func.grad(lambda t: (t**3).sum())(x))(batch))
    log.attempt(lambda: func.jvp(accumulate, (lib.ones(2),), (lib.ones(2),)))

    def twice(x):
        inner = x.detach().clone().requires_grad_()
        for _ in range(2):
            (inner * x).sum().backward()
        return inner.grad

    log.attempt(lambda: func.vmap(twice)(batch))
    weight = leaf(lib, 1.0, 2.0)

    def shared(x):
        (weight * x).sum().backward()
        return x

    log.attempt(lambda: tuple(func.vmap(shared)(batch).shape))


@scenario
def gradients_in_batches(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = x**2
    rows = lib.eye(2)
    log(lib.autograd.grad(y, x, rows, is_grads_batched=True, retain_graph=True))
    log.attempt(lambda: lib.autograd.grad(y, x, lib.ones(2), is_grads_batched=True))
    log.attempt(lambda: lib.autograd.grad(y, x, rows, is_grads_batched=True, create_graph=True)[0])
    y.grad_fn.register_hook(lambda *_: log("hook"))
    log(lib.autograd.grad(y, x, lib.ones(3, 2), is_grads_batched=True, retain_graph=True))
    unused = leaf(lib, 1.0)
    log.attempt(
        lambda: lib.autograd.grad(
            y, (x, unused), rows, is_grads_batched=True, allow_unused=True, retain_graph=True
        )
    )
    log.attempt(
        lambda: lib.autograd.grad(
            y, (x, unused), rows, is_grads_batched=True, materialize_grads=True
        )
    )
