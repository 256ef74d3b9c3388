"""Functions that return views or write, and views that change their own geometry."""

from __future__ import annotations

import itertools

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


def viewing(lib, calls):
    """Three functions that can return views, and say that the view is all they do."""

    def region(a, view):
        return a.narrow(0, 0, 2) if view else a.clone()

    class One(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, view, pure):
            ctx._is_pure_view = pure
            return region(a, view)

        @staticmethod
        def backward(ctx, gradient):
            calls.append("one")
            return gradient, None, None, None

    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, view, pure):
            ctx._is_pure_view = pure
            a = region(a, view)
            return a, a + b

        @staticmethod
        def backward(ctx, first, second):
            calls.append(("two", bool(first.eq(0).all())))
            return first + second, second, None, None

    class Inner(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, view, pure):
            ctx._is_pure_view = pure
            ctx.shape = a.shape
            return region(a, view).clone().select(0, 0)

        @staticmethod
        def backward(ctx, gradient):
            calls.append("inner")
            whole = gradient.new_zeros(ctx.shape)
            whole[0] = gradient
            return whole, None, None, None

    return One, Two, Inner


@scenario
def returned_views_and_writes(lib, log):
    calls = []
    kinds = viewing(lib, calls)
    for dtype, kind, write, view, pure in itertools.product(
        (lib.float64, lib.complex128), kinds, *[(True, False)] * 3
    ):

        def run(a, b, kind=kind, write=write, view=view, pure=pure):
            second = b.detach() if pure and kind is not kinds[1] else b.clone()
            found = kind.apply(a.clone(), 1 if kind is not kinds[1] else second, view, pure)
            parts = found if isinstance(found, tuple) else (found,)
            parts = [part.add_(3) if write else part + 3 for part in parts]
            return (parts[0] * parts[-1]).sum()

        a, b = (lib.ones(2, dtype=dtype, requires_grad=True) for _ in range(2))
        log.attempt(
            lambda a=a, b=b, run=run: lib.autograd.gradcheck(
                run, (a, b), check_batched_grad=False, raise_exception=True
            )
        )
        calls.clear()
        log.attempt(lambda a=a, b=b, run=run: run(a, b).abs().backward())
        log(calls, a.grad, b.grad)


@scenario
def geometry_changed_in_place(lib, log):
    class Shown(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    sources = (lambda x: x.view_as(x), lambda x: x.unbind()[0], Shown.apply)
    changes = (
        lambda v: v.as_strided_((1, 0), (2, 2)),
        lambda v: v.transpose_(0, 0),
        lambda v: v.t_(),
        lambda v: v.squeeze_(0),
        lambda v: v.unsqueeze_(0),
        lambda v: v.swapdims_(0, 0),
        lambda v: v.swapaxes_(0, 0),
        lambda v: v.detach_(),
        lambda v: v.requires_grad_(),
    )
    choices = itertools.product(changes, sources, *[(True, False)] * 3)
    for change, source, made_with, changed_with, requires in choices:
        base = lib.ones(2, 3, requires_grad=requires).clone()
        with lib.set_grad_enabled(made_with):
            view = source(base)
        with lib.set_grad_enabled(changed_with):
            log.attempt(lambda change=change, view=view: tuple(change(view).shape))
        log.attempt(lambda view=view: view.add_(1))
        log.facts_of(lambda view=view: view)


@scenario
def several_views_written(lib, log):
    for recorded, requires in itertools.product((True, False), repeat=2):
        for split in (
            lambda x: x.unbind(),
            lambda x: x.chunk(2),
            lambda x: x.split(1),
            lambda x: x.tensor_split(2),
            lambda x: x.hsplit(2),
        ):
            x = lib.rand(2, requires_grad=requires).clone()
            with lib.set_grad_enabled(recorded):
                parts = split(x)
            for part in parts:
                log(part._is_view())
                log.attempt(lambda part=part: part.add_(1))


@scenario
def tangents_of_returned_views(lib, log):
    class Narrow(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, way):
            ctx.way, ctx.shape = way, x.shape
            return x.narrow(0, 0, 2)

        @staticmethod
        def vjp(ctx, gradient):
            whole = gradient.new_zeros(ctx.shape)
            whole[:2] = gradient
            return whole, None

        @staticmethod
        def jvp(ctx, tangent, _):
            region = tangent.narrow(0, 0, 2)
            if ctx.way == "view":
                return region
            return region.clone() if ctx.way == "copy" else region.clone().view_as(region)

    x = lib.rand(3, 2, dtype=lib.float64, requires_grad=True)
    for way, of_view in itertools.product(("view", "copy", "view of a copy"), (False, True)):

        def run(x, way=way, of_view=of_view):
            return Narrow.apply(x.view_as(x) if of_view else x, way)

        log.attempt(lambda run=run: lib.autograd.gradcheck(run, x, check_forward_ad=True))


@scenario
def exponents_of_zero(lib, log):
    for base in (lib.zeros(3), 0, 0.0, lib.tensor(0.0)):
        exponent = leaf(lib, -1.0, 0.0, 1.0)
        (base**exponent).sum().backward()
        log([str(value) for value in exponent.grad.tolist()])


@scenario
def results_that_are_places_or_counts(lib, log):
    x = leaf(lib, 0.3, 0.1, 0.3, 0.9)
    for found in (x.argmax(), x.argmin(), x.argsort(), x.count_nonzero()):
        log(found)
    log(lib.searchsorted(lib.tensor([0.2, 0.4], requires_grad=True), x))
    log(lib.bucketize(x, lib.tensor([0.2, 0.4], requires_grad=True)))
    for inverse, counts, dim in itertools.product((True, False), (True, False), (None, 0)):
        options = {"return_inverse": inverse, "return_counts": counts, "dim": dim}
        for function in (lib.unique, lib.unique_consecutive):
            log(function(x, **options))
            first = function(x, dim=dim)
            log(first.grad_fn.name())
            log.attempt(lambda first=first: first.sum().backward())
