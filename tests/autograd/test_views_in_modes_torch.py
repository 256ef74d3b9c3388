"""Views and writes to them, made in every mode and by every kind of function."""

from __future__ import annotations

import itertools

import pytest

import retrograd
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


def aliasing(lib):
    class Alias(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Alias.apply


@scenario
def writes_to_views_by_mode(lib, log):
    for enabled, requires in itertools.product((True, False), (True, False)):
        base = lib.ones(2, requires_grad=requires).clone()
        with lib.set_grad_enabled(enabled):
            view, parts = base.view_as(base), base.unbind()
        log(enabled, requires, view._is_view(), parts[0]._is_view())
        for target in (view, *parts):
            log.facts(target)
            log.attempt(lambda target=target: target.add_(1))


@scenario
def changed_views_by_mode(lib, log):
    alias = aliasing(lib)
    makers = {
        "plain": lambda base: base.view_as(base),
        "many": lambda base: base.unbind()[0],
        "function": alias,
    }
    changes = (
        lambda v: v.as_strided_((1, 0), (2, 2)),
        lambda v: v.transpose_(0, 0),
        lambda v: v.t_(),
        lambda v: v.squeeze_(0),
        lambda v: v.unsqueeze_(0),
        lambda v: v.swapdims_(0, 0),
        lambda v: v.swapaxes_(0, 0),
    )
    modes = itertools.product((True, False), (True, False), (True, False))
    for (made, changed, requires), maker in itertools.product(modes, makers):
        for number, change in enumerate(changes):
            base = lib.ones(2, 3, requires_grad=requires).clone()
            with lib.set_grad_enabled(made):
                view = makers[maker](base)
            log(maker, made, changed, requires, number)
            with lib.set_grad_enabled(changed):
                done = log.attempt(lambda change=change, view=view: tuple(change(view).shape))
            if done is not None:
                log.attempt(lambda view=view: view.add_(1))


@scenario
def views_by_functions_written_with_gradients(lib, log):
    alias = aliasing(lib)
    for write in (lambda v, b: v.add_(b), lambda v, b: v.copy_(b), lambda v, b: v.mul_(2)):
        view, b = alias(lib.ones(1, 2)), leaf(lib, 3.0)
        log.attempt(lambda write=write, view=view, b=b: write(view, b))
        part, b = lib.ones(1, 2).unbind()[0], leaf(lib, 3.0)
        log.attempt(lambda write=write, part=part, b=b: write(part, b))
    base, b = lib.ones(1, 2), leaf(lib, 3.0)
    log(base.select(1, 0).copy_(b))
    log.facts(base)


@scenario
def functions_that_return_views(lib, log):
    calls = []

    class One(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, view, pure):
            ctx._is_pure_view = pure
            return a.narrow(0, 0, 2) if view else a.clone()

        @staticmethod
        def backward(ctx, grad):
            calls.append("one")
            return grad, None, None

    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, view, pure):
            ctx._is_pure_view = pure
            a = a.narrow(0, 0, 2) if view else a.clone()
            return a, a + b

        @staticmethod
        def backward(ctx, first, second):
            calls.append("two")
            return first + second, second, None, None

    class Inner(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, view, pure):
            ctx._is_pure_view = pure
            return (a.narrow(0, 0, 2) if view else a).clone().select(0, 0)

        @staticmethod
        def backward(ctx, grad):
            calls.append("inner")
            return lib.cat([grad.reshape(1), lib.zeros(1)]), None, None

    def attempt(kind, write, view, pure):
        a, b = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        x, y = a.clone(), b.clone()
        if kind == "two":
            results = Two.apply(x, y, view, pure)
        elif kind == "one":
            results = (One.apply(x, view, pure),)
        else:
            results = (Inner.apply(x + y, view, pure),)
        results = [result.add_(3) if write else result + 3 for result in results]
        total = results[0] * results[-1]
        log(results[0])
        total.sum().backward()
        return a.grad, b.grad

    flags = (True, False)
    for kind, write, view, pure in itertools.product(("one", "two", "inner"), flags, flags, flags):
        calls.clear()
        log(kind, write, view, pure)
        log.attempt(lambda: attempt(kind, write, view, pure))  # noqa: B023
        log(calls)


@scenario
def functions_that_write(lib, log):
    class Add(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, results):
            a.add_(b)
            ctx.mark_dirty(a)
            ctx.results = results
            return {"same": a, "pair": (a, a + b), "others": (a.clone(), a + b)}[results]

        @staticmethod
        def backward(ctx, *grads):
            log("backward", grads)
            return sum(grads), sum(grads), None

    for results in ("same", "pair", "others"):
        for view, more in itertools.product((True, False), (True, False)):
            a, b = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)

            def run(a=a, b=b, view=view, more=more, results=results):
                target = a.clone()
                target = target.view_as(target) if view else target
                out = Add.apply(target, b, results)
                outs = out if isinstance(out, tuple) else (out,)
                log(outs[0] is target)
                if more:
                    outs[0].mul_(2)
                sum(o.sum() for o in outs).backward()
                return a.grad, b.grad

            log(results, view, more)
            log.attempt(run)


@scenario
def functions_that_mark_wrongly(lib, log):
    def marking(change, mark):
        class Marking(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                out = change(x)
                ctx.mark_dirty(mark(x, out))
                return out

            @staticmethod
            def backward(ctx, grad):
                return grad

        return Marking.apply

    kinds = {
        "result": marking(lambda x: 3 * x, lambda x, out: out),
        "view of a copy": marking(lambda x: x.clone().view_as(x), lambda x, out: out),
        "input": marking(lambda x: x.add_(1), lambda x, out: x),
        "input unreturned": marking(lambda x: x + 1, lambda x, out: x),
    }
    targets = {
        "copy": lambda x: x.clone(),
        "leaf": lambda x: x,
        "view of leaf": lambda x: x.view_as(x),
        "one of many": lambda x: x.split_with_sizes([1, 1])[0],
        "one of many copies": lambda x: x.clone().split(1)[0],
        "plain": lambda x: x.detach().clone(),
    }
    for kind, target in itertools.product(kinds, targets):
        log(kind, target)
        x = leaf(lib, 1.0, 2.0)
        log.attempt(lambda kind=kind, target=target, x=x: kinds[kind](targets[target](x)))


@scenario
def functions_in_no_grad(lib, log):
    class Part(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:]

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf(lib, 1.0, 2.0)
    with lib.no_grad():
        out, expected = Part.apply(x), x[:]
    log.facts(out, expected)
    log.attempt(lambda: out.zero_())
    log.attempt(lambda: expected.zero_())


@scenario
def local_writes_of_functions(lib, log):
    class Local(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, write):
            view = x.clone()[:2]
            if write:
                view += 2
            return view

        @staticmethod
        def backward(ctx, grad):
            return lib.cat([grad, lib.zeros(1)]), None

    for write in (True, False):
        x = leaf(lib, 1.0, 2.0, 3.0)
        out = Local.apply(x, write)
        log.facts(out)
        out.sum().backward()
        log(x.grad)
        log.attempt(lambda out=out: out.add_(1))


@scenario
def printed_views(lib, log):
    x = leaf(lib, 1.0)
    log(repr(x), repr(x.clone()), repr(x[:]))
    with lib.no_grad():
        view = x[:]
        view *= 2
    log(repr(view), repr(x))
    log.attempt(lambda: view.grad_fn)
    log(repr(aliasing(lib)(x)))
    for context in (lib.no_grad, lib.inference_mode):
        base = lib.zeros(2)
        with context():
            first = base.view(2)
        log.attempt(lambda first=first: first.requires_grad_(True))
        second = first.view(2)
        log.attempt(lambda second=second: second.div_(2))
        log.attempt(lambda first=first: first.div_(2))


@scenario
def views_of_another_dtype(lib, log):
    x = lib.tensor([[1 + 2j, 3j], [4 + 0j, 5 - 1j]], requires_grad=True)
    view = lib.view_as_real(x.clone()).transpose(0, 1)
    view += 1
    view.backward(lib.arange(8.0).view(2, 2, 2))
    log(x.grad, view)


def test_transposed_in_place_then_written():
    # PyTorch transposes this gradient, as its own tests note: a known mistake there.
    x = retrograd.tensor([[1 + 2j, 3j], [4 + 0j, 5 - 1j]], requires_grad=True)
    view = retrograd.view_as_real(x.clone()).transpose_(0, 1)
    view += 1
    view.backward(retrograd.arange(8.0).view(2, 2, 2))
    assert x.grad.tolist() == [[1j, 4 + 5j], [2 + 3j, 6 + 7j]]


@scenario
def writes_to_views_of_views(lib, log):
    def first_rows(x):
        return x.narrow(0, 0, 1)

    for target in (
        lambda x: first_rows(x).mul_(2),
        lambda x: first_rows(x).narrow(1, 1, 1).mul_(2),
        lambda x: x.unbind()[0].mul_(2),
        lambda x: x.unbind()[0].view(-1).mul_(2),
        lambda x: x.view_as(x).unbind()[0].mul_(2),
        lambda x: x.split(1)[0].mul_(2),
        lambda x: x.chunk(2)[0].mul_(2),
        lambda x: x.split_with_sizes([1, 1])[0].mul_(2),
        lambda x: x.unsafe_split(1)[0].mul_(2),
        lambda x: x.unsafe_chunk(2)[0].mul_(2),
        lambda x: x.unsafe_split_with_sizes((1, 1))[0].mul_(2),
        lambda x: x.t()[0].mul_(2),
        lambda x: x[0][0].fill_(3),
    ):
        root = leaf(lib, [1.0, 2.0], [3.0, 4.0])
        x = root.clone()
        other = first_rows(x)
        log.attempt(lambda target=target, x=x: target(x))
        log(x, other)
        (x * x).sum().backward(retain_graph=True)
        log(root.grad, other.grad_fn.name())
        log(lib.autograd.grad(other.sum(), root))


@scenario
def bases_that_begin_to_require(lib, log):
    base, factor = lib.tensor([2.0, 5.0]), leaf(lib, 3.0)
    early = base.select(0, 1)
    log(early.requires_grad, early.grad_fn)
    result = base.narrow(0, 1, 1).mul_(factor)
    log(base, early, result)
    early.backward()
    log(factor.grad, base.grad)
    base, shift = lib.ones(5), leaf(lib, 1.0)
    view = base.select(0, 1)
    base.add_(shift)
    log.facts(view, base)
    view.backward()
    log(shift.grad)
    root = lib.ones(2, 3, 2).select(2, 1).t().requires_grad_(True)
    copied = root.clone()
    copied.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    copied.sum().backward()
    log(root.grad)


@scenario
def no_gradient_from_a_writing_function(lib, log):
    class Doubling(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    a, b = leaf(lib, 1.0), leaf(lib, 1.0)
    out = Doubling.apply(a.clone()[:], b)
    out.backward(lib.ones(1))
    log(a.grad, b.grad)
    c = lib.tensor([[1.0], [1.0]], requires_grad=True)
    d = c * 2
    e = d.view_as(d)
    e[0][0] = 3
    with lib.no_grad():
        log(e.grad_fn)
    e.sum().backward()
    log(c.grad)
