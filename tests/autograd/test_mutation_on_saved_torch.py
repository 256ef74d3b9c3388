"""Writes to what was saved, allowed inside `allow_mutation_on_saved_tensors`."""

from __future__ import annotations

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


def clones(context):
    return len(list(context.cloned.items()))


def handles(context):
    return len(list(context.tid_to_weakhandle.items()))


@scenario
def writes_to_bases_and_views(lib, log):
    def write_itself(b):
        out = (b**2).sum()
        b.sin_()
        return out

    def write_view(b):
        view = b.view_as(b)
        out = (b**2).sum()
        view.sin_()
        return out

    def write_part(b):
        part = b[:1]
        out = (b**2).sum()
        part *= 10
        return out

    def write_base(b):
        view = b[:]
        out = (view**2).sum()
        b *= 2
        return out

    def write_by_index(b):
        out = (b * b.exp()).sum()
        b[0] = 5.0
        return out

    for run in (write_itself, write_view, write_part, write_base, write_by_index):
        x = leaf(lib, 1.0, 2.0)
        log.attempt(lambda run=run, x=x: run(x.clone()).backward())
        x = leaf(lib, 1.0, 2.0)
        with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
            out = run(x.clone())
            log(clones(context))
            out.backward()
            log(clones(context), x.grad)


@scenario
def when_clones_are_made_and_dropped(lib, log):
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = leaf(lib, 1.0, 2.0).clone()
        out = (x**2).sum()
        log(handles(context), clones(context))
        out.backward()
        x.sin_()
        log(clones(context))
        out = (x**2).sum()
        x.sin_()
        log(clones(context))
        del out
        log(clones(context))
        first, second = x**2, x**2
        x.sin_()
        log(clones(context))
        del first, second
        log(clones(context))
        first = x**2
        x.sin_()
        second = x**2
        x.sin_()
        log(clones(context))
        del first
        log(clones(context))
        del second
        log(clones(context))


@scenario
def second_derivatives(lib, log):
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = leaf(lib, 1.0, 2.0)
        b = x.clone()
        out = (b**2).sum()
        b.sin_()
        lib.autograd.grad(out, x, create_graph=True)
        (first,) = lib.autograd.grad(out, x, create_graph=True)
        log(first, lib.autograd.grad(first.sum(), x))
    log(clones(context))


@scenario
def outputs_given_by_the_caller(lib, log):
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x, constant, other = leaf(lib, 3.0), lib.tensor([1.0]), lib.tensor([2.0])
        out = x * constant
        log(handles(context))
        lib.sin(other, out=constant)
        log(clones(context), constant)
        out.backward(lib.ones(1))
        log(clones(context), x.grad)


@scenario
def complex_views(lib, log):
    for written in ("base", "conjugate"):
        with lib.autograd.graph.allow_mutation_on_saved_tensors():
            x = leaf(lib, 1.0 + 1.0j)
            base = x.clone()
            conjugate = base.conj()
            out = (conjugate**2).sum()
            (base if written == "base" else conjugate).sin_()
            out.abs().backward()
            log(x.grad)


@scenario
def outside_of_the_context(lib, log):
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        x = leaf(lib, 1.0)
        out, second = (x**2).sum(), (x**2).sum()
    log.attempt(lambda: out.backward())
    with allow():
        log.attempt(lambda: second.backward())

        def nested():
            with allow():
                pass

        log.attempt(nested)
    y = leaf(lib, 2.0)
    b = y.clone()
    before = (b**2).sum()
    with allow():
        b.mul_(2)
        log.attempt(lambda: before.backward())


@scenario
def functions_that_save(lib, log):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = leaf(lib, 1.0, 2.0)
        b = x.clone()
        out = Square.apply(b)
        b.zero_()
        log(clones(context))
        out.sum().backward()
        log(x.grad)
        x.grad = None
        c = x.exp()
        out = c.sum()
        c.mul_(3)
        out.backward()
        log(x.grad)
