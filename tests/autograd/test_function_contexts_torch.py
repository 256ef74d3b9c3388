"""Custom functions: marked outputs, saved values, reentrance; scenarios for both libraries."""

from __future__ import annotations

import gc

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
def undifferentiable_outputs(lib, log):
    class Sign(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x > 0
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            raise AssertionError("must not run")

    x = leaf(lib, 1.0, -2.0)
    mask = Sign.apply(x)
    log.facts(mask)
    x.masked_fill(mask, 0).sum().backward()
    log(x.grad)

    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x + 1, x + 2
            ctx.mark_non_differentiable(first)
            return first, second

        @staticmethod
        def backward(ctx, first, second):
            log(first, second)
            return second

    first, second = Mixed.apply(x)
    log.facts(first, second)
    second.sum().backward()
    log(x.grad)

    class Cut(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            return None

    x.grad = None
    (Cut.apply(x * x) * x).sum().backward()
    log(x.grad)

    class Noise(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = lib.ones(x.size())
            ctx.mark_non_differentiable(out)
            return x, out

        @staticmethod
        def backward(ctx, grad, ignored):
            return grad

    a, b = Noise.apply(x)
    b = b + 1
    log(a.requires_grad, b.requires_grad)


@scenario
def the_same_output_twice(lib, log):
    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            return out, out

        @staticmethod
        def backward(ctx, first, second):
            log(first, second)
            return first * 2 + second * 2

    class Inplace(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x, x

        @staticmethod
        def backward(ctx, first, second):
            log(first, second)
            return first * 2 + second * 2

    x = leaf(lib, 1.0, 2.0, dtype=lib.float64)
    for run in (lambda: Twice.apply(x), lambda: Inplace.apply(x.clone())):
        a, b = run()
        log(a is b, a.output_nr, b.output_nr)
        log(lib.autograd.grad((a + b).sum(), x))
    log.attempt(lambda: Inplace.apply(x))
    log.attempt(lambda: Inplace.apply(x.clone()[0:1]))
    log(x)


@scenario
def leaves_among_the_outputs(lib, log):
    class Pass(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a, a + b

        @staticmethod
        def backward(ctx, first, second):
            return first + second, second

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    q, p = Pass.apply(x, y)
    q.register_hook(lambda g: log("only of q", g))
    (q + p + x).sum().backward()
    log(x.grad, y.grad)

    class Add(lib.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, first, second):
            return first, first + second

    target = lib.ones(2)
    q, p = Add.apply(target, y)
    log(q is target, q.grad_fn.__class__ is Add._backward_cls, q.requires_grad, target._version)
    q.sum().backward()
    log(y.grad)


@scenario
def odd_savings(lib, log):
    class Gaps(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x, None)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            before, x, after = ctx.saved_tensors
            log(before, after)
            return 2 * x * grad, None, None

    x = leaf(lib, 1.0, 2.0)
    Gaps.apply(x).sum().backward()
    log(x.grad)

    class Keeping(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            kept.append(ctx)
            return ctx.saved_tensors

    kept = []
    loss = Keeping.apply(x)
    loss.sum().backward(retain_graph=True)
    del loss
    gc.collect()
    log.attempt(lambda: kept[0].saved_tensors)
    made = Keeping.apply(x)
    log(made.grad_fn.name(), made.grad_fn.metadata is not None)
    made.sum().backward()
    node = made.grad_fn
    del made
    log(node.metadata is not None)


@scenario
def outputs_used_in_backward_twice(lib, log):
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * 2 * y / x

    x = lib.tensor(2.0, dtype=lib.float64, requires_grad=True)
    log(lib.autograd.gradcheck(Square.apply, x), lib.autograd.gradgradcheck(Square.apply, x))
    y = Square.apply(x)
    log(lib.autograd.grad(y, x, create_graph=True))
    log(lib.autograd.grad(y, x))
    log.attempt(lambda: lib.autograd.grad(y, x))

    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.prod(dim=-1)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return (grad * y)[:, None] / x

    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = Product.apply(x)
    for _ in range(2):
        (first,) = lib.autograd.grad(y[0], x, create_graph=True)
        log(first, lib.autograd.grad(first[0, 0], x, retain_graph=True))


@scenario
def reentrant_backward(lib, log):
    class Reenter(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                ctx.x = lib.autograd.Variable(x, requires_grad=True)
                ctx.y = lib.tensor([2.0, 3.0], requires_grad=True)
                ctx.out = ctx.x * ctx.y
            return ctx.out.detach()

        @staticmethod
        def backward(ctx, grad):
            with lib.enable_grad():
                ctx.out.sum().backward()
            return ctx.x.grad * grad

    x = leaf(lib, 1.0, 2.0)
    Reenter.apply(x).sum().backward()
    log(x.grad)

    class Fails(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("inner")

    inner = Fails.apply(leaf(lib, 1.0) ** 2).sum()

    class Outer(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            inner.backward()
            return grad

    log.attempt(lambda: Outer.apply(x * x).sum().backward())
    log(x.grad)
