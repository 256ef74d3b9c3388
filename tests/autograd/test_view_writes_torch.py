"""Writes to views, and modes in which views are made; scenarios for both libraries."""

from __future__ import annotations

import functools

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


def leaf(lib, *shape, dtype=None):
    return lib.rand(*shape, dtype=dtype or lib.float64).requires_grad_()


def adder(lib):
    class Add(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            x.add_(y)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    return Add


@scenario
def written_views_and_what_is_summed(lib, log):
    cases = {
        "base": lambda x: (x.narrow(0, 0, 1).mul_(2), x)[1],
        "other view": lambda x: (lambda v, w: (v.mul_(2), w)[1])(x[:1], x[:1]),
        "view of view": lambda x: (x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2), x)[1],
        "itself": lambda x: x[:1].mul_(2),
        "squared": lambda x: (x[:1].pow_(2), x * x)[1],
        "transposed": lambda x: (x.t()[0].mul_(3), x.t())[1],
        "flat": lambda x: (x.view(-1)[::3].mul_(3), x)[1],
        "diagonal": lambda x: (x.diagonal().exp_(), x)[1],
        "expanded": lambda x: (x[:1].expand(1, 2).mul_(3), x)[1],
        "twice": lambda x: (x[0].mul_(3), x[0].mul_(x[1]), x)[2],
    }
    for name, run in cases.items():
        root = leaf(lib, 2, 2)
        x = root.clone()
        out = run(x)
        log(name, type(out.grad_fn).__name__, type(x.grad_fn).__name__, x._version)
        out.sum().backward()
        log(root.grad)
    root = lib.ones(2, 3, 2).select(2, 1).t().requires_grad_()
    x = root.clone()
    x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    x.sum().backward()
    log(root.grad, root.grad.stride(), x.stride())


@scenario
def graphs_renewed_without_recording(lib, log):
    a = lib.ones(3, 1, dtype=lib.float64, requires_grad=True)
    b = a * 2
    c = b.view_as(b)
    c[0][0] = 3
    with lib.no_grad():
        log(type(c.grad_fn).__name__)
    with lib.inference_mode():
        log(type(b.grad_fn).__name__)
    c.sum().backward()
    log(a.grad)


@scenario
def checked_writes(lib, log):
    def two_parts(root, b):
        x = root.clone()
        x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(b)
        x.narrow(1, 0, 2).narrow(0, 1, 2).mul_(b)
        return x

    def functions(root, b):
        x = root.clone()
        adder(lib).apply(x.narrow(1, 2, 2).narrow(0, 1, 2), b)
        adder(lib).apply(x.narrow(1, 0, 2).narrow(0, 1, 2), b)
        return x

    def requiring(root, b):
        x = root.detach().clone()
        before = x.requires_grad
        x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(b)
        log(before, x.requires_grad, x.is_leaf)
        return x

    def base_first(root, b):
        x = lib.ones(2, 2, dtype=lib.float64)
        view = x.select(0, 1)
        log(view.requires_grad, view.grad_fn)
        x.add_(b)
        log(view.requires_grad, type(view.grad_fn).__name__, view.is_leaf)
        return view + root.sum()

    for run in (two_parts, functions, requiring, base_first):
        a, b, grad = leaf(lib, 4, 4), leaf(lib, 2, 2), leaf(lib, 4, 4)
        log(lib.autograd.gradcheck(run, (a, b), fast_mode=True))
        grad = None if run is base_first else (grad,)
        log(lib.autograd.gradgradcheck(run, (a, b), grad, fast_mode=True))


@scenario
def several_views_at_once(lib, log):
    for split in (
        lambda t: t.unbind(),
        lambda t: t.split(1),
        lambda t: t.split_with_sizes((1, 1, 1)),
        lambda t: t.chunk(3),
        lambda t: t.tensor_split(3),
        lambda t: t.view_as(t).unbind(),
        lambda t: t.unsafe_split(1),
        lambda t: t.unsafe_split(2),
        lambda t: t.unsafe_split_with_sizes((1, 1, 1)),
        lambda t: t.unsafe_chunk(3),
        lambda t: t.unsafe_chunk(2, 1),
        lambda t: lib.unsafe_split(t, [2, 1]),
        lambda t: lib.unsafe_chunk(t, chunks=3, dim=1),
    ):
        a = leaf(lib, 3, 3)
        b = a + a
        parts = log.attempt(lambda split=split, b=b: split(b))
        if parts is None:
            continue
        log([(part._is_view(), part._version, part.output_nr) for part in parts], b._version)
        log(type(parts[0].grad_fn).__name__, type(parts).__name__)
        log.attempt(lambda parts=parts: parts[0].view_as(parts[0]).mul_(2))
        log.attempt(lambda parts=parts: parts[0].mul_(parts[1]))
        log(b._version)
        log.attempt(lambda parts=parts: parts[0].sum().backward())
        log(a.grad)


@scenario
def functions_that_write(lib, log):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    a = lib.tensor([1.0], requires_grad=True)
    b = lib.tensor(1.0, requires_grad=True)
    c = a.clone()
    out = Double.apply(c[:], b)
    log(type(out.grad_fn).__name__, type(c.grad_fn).__name__)
    out.backward()
    log(a.grad, b.grad)


@scenario
def views_of_plain_tensors(lib, log):
    a = lib.tensor([2.0, 5.0])
    b = lib.tensor([3.0], requires_grad=True)
    result = a.narrow(0, 1, 1).mul_(b)
    log.facts(a, result)
    result.sum().backward()
    log(b.grad)
    log.attempt(lambda: a.grad)


CHANGES = (
    lambda x: x.add_(2),
    lambda x: x.transpose_(0, 1),
    lambda x: x.t_(),
    lambda x: x.unsqueeze_(0),
    lambda x: x.squeeze_(),
    lambda x: x.resize_(1, 2),
    lambda x: x.resize_as_(x.new_ones(1, 2)),
    lambda x: x.copy_(x.new_ones(3)),
    lambda x: x.detach_(),
    lambda x: x.zero_(),
    lambda x: x.set_(x.new_ones(2)),
    lambda x: x.__setitem__(0, 2.0),
    lambda x: x.requires_grad_(),
)


@scenario
def changes_in_inference_mode(lib, log):
    for change in CHANGES:
        for flag in (True, False):
            with lib.inference_mode():
                made = lib.ones(2, 3, requires_grad=flag)
                log.attempt(lambda change=change, made=made: change(made))
                log.facts(made)
                log.facts(made.view(-1))
            normal = lib.ones(2, 3, requires_grad=flag).clone()
            with lib.inference_mode():
                log.attempt(lambda change=change, normal=normal: change(normal))
                log.facts(normal)
                log.attempt(lambda change=change, normal=normal: change(normal))
                log.facts(normal)
                log.attempt(lambda normal=normal: normal.view(-1))
            log.attempt(lambda change=change, normal=normal: change(normal))
            log.facts(normal)


@scenario
def changes_after_inference_mode(lib, log):
    for change in CHANGES:
        with lib.inference_mode():
            made = lib.ones(2, 3)
        log.attempt(functools.partial(change, made))
        log(made.requires_grad, made.is_leaf, made.is_inference(), made._is_view())
        for flag in (True, False):
            normal = lib.ones(2, 3, requires_grad=flag).clone()
            with lib.inference_mode():
                view = normal.view_as(normal)
            log.attempt(functools.partial(change, view))
            log.facts(normal, view)
            normal = lib.ones(2, 3, requires_grad=flag).clone()
            with lib.inference_mode():
                view = normal.view(-1)
            log.attempt(functools.partial(change, normal))
            log.facts(normal, view)


@scenario
def other_memory(lib, log):
    """What `set_` gives has no derivative."""
    for make in (
        lambda a: a.clone(),
        lambda a: a.detach().clone(),
        lambda a: a.clone().view(-1),
        lambda a: a.detach().clone().requires_grad_(),
    ):
        for source in (lambda a: a.detach() + 1, lambda a: a * 2, lambda a: (a * 2).view(-1)):
            a = lib.ones(2, requires_grad=True)
            x = make(a)
            view = x.view(-1)
            log.attempt(functools.partial(x.set_, source(a)))
            log.facts(x)
            log(type(view.grad_fn).__name__, view._version)
            log.attempt(x.sum().backward)
            log(a.grad)


@scenario
def inference_tensors_as_operands(lib, log):
    for flag in (True, False):
        normal = lib.ones(2, requires_grad=flag)
        with lib.inference_mode():
            made = lib.ones(2, requires_grad=flag)
        for run in (
            lambda normal, made: made.add(normal),
            lambda normal, made: made * normal,
            lambda normal, made: normal * made,
            lambda normal, made: normal.clone().mul_(made),
            lambda normal, made: normal.clone().add_(made),
            lambda normal, made: lib.mul(normal, normal, out=made),
            lambda normal, made: lib.mul(made, made, out=lib.zeros(2)),
            lambda normal, made: lib.cat([normal, made]),
            lambda normal, made: lib.stack([normal, made]) * 2,
            lambda normal, made: made.view_as(normal),
            lambda normal, made: normal.view_as(made),
            lambda normal, made: made * made,
            lambda normal, made: made.clone() * normal,
            lambda normal, made: lib.einsum("i,i", made, normal),
        ):
            log.facts_of(functools.partial(run, normal, made))
        if flag:
            made.add(normal).sum().backward()
            log(made.grad, normal.grad)
