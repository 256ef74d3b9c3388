"""Gradients at awkward places, layouts and dtypes of gradients; scenarios for both libraries."""

from __future__ import annotations

import itertools
import math
import warnings

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


def gradient(lib, function, *inputs):
    return lib.autograd.grad(function(*inputs).sum(), inputs, allow_unused=True)


@scenario
def ties_share_the_gradient(lib, log):
    for name in ("min", "max", "median", "nanmedian", "amin", "amax"):
        x = leaf(lib, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0)
        log(name, gradient(lib, getattr(lib, name), x))
    for name in ("min", "max", "median", "nanmedian"):
        log(
            name,
            [
                str(g.tolist())
                for g in gradient(lib, getattr(lib, name), leaf(lib, *[math.nan] * 3))
            ],
        )
    x = leaf(lib, 3.0, 1.0, 3.0, 1.0)
    low, high = lib.aminmax(x)
    for part in (low, high, low + high):
        log(lib.autograd.grad(part, x, retain_graph=True))
    y = leaf(lib, [3.0, 1.0], [3.0, 2.0])
    for name in ("amin", "amax"):
        for dim, keep in itertools.product((0, 1, (0, 1)), (True, False)):
            log(gradient(lib, lambda t, n=name, d=dim, k=keep: getattr(lib, n)(t, d, k), y))
    index = lib.tensor([0, 1, 0])
    source = leaf(lib, 1.0, 2.0, 1.0)
    warnings.filterwarnings("ignore", "index_reduce.* is in beta")
    for kind, include in itertools.product(("amin", "amax", "prod", "mean"), (True, False)):
        target = leaf(lib, 1.0, 2.0)
        for function in (lib.scatter_reduce, lib.index_reduce):
            log.attempt(
                lambda f=function, t=target, k=kind, i=include: gradient(
                    lib, lambda a, b: f(a, 0, index, b, k, include_self=i), t, source
                )
            )


@scenario
def products_of_zeros(lib, log):
    warnings.filterwarnings("ignore", "index_reduce.* is in beta")
    for function in (lib.scatter_reduce, lib.index_reduce):
        x, source = leaf(lib, 1.0), leaf(lib, 0.0, 0.0)
        index = lib.tensor([0, 0])
        out = function(x, 0, index, source, "prod")
        grads = lib.autograd.grad(out, (x, source), lib.ones(1), create_graph=True)
        log(grads)
        log.attempt(lambda grads=grads, s=source: lib.autograd.grad(grads[1].sum(), s))


@scenario
def powers_and_signs(lib, log):
    exponents = (-1.0, 0.0, 1.0, 2.0)
    log(
        [str(g.tolist()) for g in gradient(lib, lambda b: lib.zeros(4) ** b, leaf(lib, *exponents))]
    )
    log([str(g.tolist()) for g in gradient(lib, lambda b: 0**b, leaf(lib, *exponents))])
    for first, second in itertools.product((0.0, -0.0, -1.0, 2.0), (-1.0, 0.0, -0.0, 1.0)):
        log(gradient(lib, lib.copysign, leaf(lib, first), leaf(lib, second)))
        log(gradient(lib, lib.atan2, leaf(lib, first), leaf(lib, second)))
        log(
            [str(g.tolist()) for g in gradient(lib, lib.hypot, leaf(lib, first), leaf(lib, second))]
        )
    base, power = -lib.ones(2, dtype=lib.double), lib.tensor([1 + 2j, 0.5j], dtype=lib.cdouble)
    power.requires_grad_()
    for left in (base, -1, -1.0):
        out = lib.pow(left, power)
        log(out, lib.autograd.grad(out.abs().sum(), power))


@scenario
def shapes_of_traces(lib, log):
    for shape in ((5, 2), (4, 1), (1, 5), (2, 5), (3, 3)):
        log(gradient(lib, lib.trace, lib.ones(shape, requires_grad=True)))


@scenario
def layouts_of_gradients(lib, log):
    formats = (lib.contiguous_format, lib.channels_last)
    for first, second in itertools.product(formats, formats):
        a = lib.ones(2, 3, 4, 5).to(memory_format=first).requires_grad_()
        b = lib.ones(2, 3, 4, 5).to(memory_format=second).requires_grad_()
        for function in (lambda a, b: a.sum() + b.sum(), lambda a, b: (a * b).sum()):
            a.grad = b.grad = None
            function(a, b).backward()
            log(a.grad.stride(), b.grad.stride())
    sparse = lib.empty_strided((2, 2), (4, 2)).fill_(1.0).requires_grad_()
    for function in (lambda t: t.sum(), lambda t: (t * lib.ones(2, 2)).sum()):
        sparse.grad = None
        function(sparse).backward()
        log(sparse.grad.stride())


@scenario
def layouts_left_as_they_come(lib, log):
    class Contiguous(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return lib.ones(2, 3, 4, 5)

    policy = lib.autograd.enforce_grad_layout_policy
    x = lib.ones(2, 3, 4, 5).to(memory_format=lib.channels_last).requires_grad_()

    def run():
        x.grad = None
        Contiguous.apply(x).backward()
        log(x.grad.stride())

    run()
    with policy(False):
        run()
    run()
    policy(False)
    run()
    policy(True)
    decorated = policy(False)(run)
    run()
    decorated()
    run()


@scenario
def real_and_complex(lib, log):
    real = leaf(lib, 1.0, -2.0)
    target = lib.zeros(2, dtype=lib.cfloat)
    target.copy_(real)
    log(target)
    target.sum().abs().backward()
    log(real.grad)
    log(gradient(lib, lambda t: t.to(lib.cfloat).sum().abs(), real))
    both = lib.tensor([1 + 1j, 2j], requires_grad=True)
    for join in (lib.cat, lib.stack):
        for order in ((real, both), (both, real)):
            log(lib.autograd.grad(join(order).abs().sum(), order))
    scalar = lib.zeros(1, requires_grad=True) * 0.5j
    log.attempt(lambda: scalar.backward())
    log.attempt(lambda: lib.autograd.grad(scalar, real))
    for unused in (0, 1):
        pair = leaf(lib, 1.0), leaf(lib, 2.0)
        log.attempt(lambda p=pair, u=unused: lib.autograd.grad(p[1 - u].sum(), p))


@scenario
def results_without_gradients(lib, log):
    x = leaf(lib, 1.0, 3.0, 2.0)
    for function in (
        lambda t: t.argmax(), lambda t: t.argmin(), lambda t: t.argsort(), lib.signbit,
        lambda t: lib.searchsorted(t.sort()[0], t), lambda t: lib.bucketize(t, t.sort()[0]),
        lambda t: t.count_nonzero(), lambda t: lib.isin(t, lib.tensor([2.0])), lib.isnan,
        lambda t: t.eq(1), lambda t: t.bool(), lambda t: t.long(),
        lambda t: lib.histc(t.detach(), 3),
    ):  # fmt: skip
        out = function(x)
        log(out, out.requires_grad, out.is_leaf)
    for function, inverse, counts in itertools.product(
        (lib.unique, lib.unique_consecutive), (True, False), (True, False)
    ):
        for options in ({}, {"dim": 0}):
            out = function(x, return_inverse=inverse, return_counts=counts, **options)
            outs = out if isinstance(out, tuple) else (out,)
            log([o.requires_grad for o in outs], outs[0].grad_fn.name(), outs)
            log.attempt(lambda outs=outs: outs[0].sum().backward())


@scenario
def assignments_of_gradients(lib, log):
    x = lib.ones(2, 2)

    def assign(value):
        x.grad = value
        return x.grad

    for value in (0, lib.ones(3), lib.ones(2, 2).long(), lib.ones(2, 2).double(), x, None, "g"):
        log.attempt(lambda value=value: assign(value))
    log.attempt(lambda: assign(lib.ones(2, 2, requires_grad=True) * 2))
    for dtype in (lib.float32, lib.float64, lib.int8, lib.int64, lib.bool, lib.cfloat):
        for make in (
            lambda d: lib.ones(1, dtype=d).requires_grad_(),
            lambda d: lib.ones(1, dtype=d, requires_grad=True),
            lambda d: setattr(lib.ones(1, dtype=d), "requires_grad", True),
            lambda d: lib.ones(1, dtype=d).requires_grad_(False),
            lambda d: lib.ones_like(lib.ones(1), dtype=d, requires_grad=True),
        ):
            log.attempt(lambda make=make, dtype=dtype: make(dtype))


@scenario
def sizes_that_change(lib, log):
    x, y = lib.ones(1), lib.ones(3)
    for step in (
        lambda: x.resize_((1, 2)), lambda: x.resize_as_(y), lambda: x.resize_((3,)),
        lambda: x.resize_as_(y), lambda: x.resize_(6),
    ):  # fmt: skip
        log(tuple(step().shape), x._version)
    weight = lib.nn.Parameter(lib.arange(5.0))
    for _ in range(2):
        with lib.no_grad():
            weight.set_(weight[1:])
            weight.grad = None
        (lib.cat((weight, weight)) ** 2).sum().backward()
        log(weight, weight.grad)


@scenario
def numbers_of_python(lib, log):
    whole, real = lib.zeros(1, 1, 1, dtype=lib.long), lib.zeros(1, 1, dtype=lib.double)
    for value in (-12345, 0, 1234567890123456789):
        whole[0] = value
        log(int(whole), float(whole), bool(whole), complex(whole), whole.__index__())
    for value in (-12345.5, math.inf, -math.inf, math.nan, 0.0, 1e308, 5e-324):
        real[0] = value
        log(str(float(real)), bool(real))
        log.attempt(lambda: int(real))
        log.attempt(lambda: real.__index__())
    for wide in (lib.ones(2), lib.ones(0)):
        for convert in (int, float, bool, complex):
            log.attempt(lambda w=wide, c=convert: c(w))
    log.attempt(lambda: float(lib.tensor(1 + 1j)))
    log.attempt(lambda: float(leaf(lib, 1.5)))


@scenario
def saved_inputs_of_sums(lib, log):
    x = leaf(lib, 1.0, 2.0)
    for function in (
        lambda t: t.sum(-1, keepdim=True), lambda t: t.mean(), lambda t: t + 1, lambda t: t * 2,
        lambda t: t.prod(), lambda t: t.std(), lambda t: t.cumsum(0), lambda t: t.norm(),
        lambda t: t.max(), lambda t: t.sort()[0], lambda t: t.abs(), lambda t: t.relu(),
        lambda t: t.clamp(0, 1), lambda t: t.expand(2, 2), lambda t: t.logsumexp(0),
    ):  # fmt: skip
        copied = x.clone()
        out = function(copied).sum()
        copied.add_(1)
        log.attempt(lambda out=out: lib.autograd.grad(out, x))


@scenario
def half_precision_and_gradient_dtypes(lib, log):
    for half, chosen in itertools.product((lib.half, lib.bfloat16), ("none", "float", "kept")):
        x = leaf(lib, 1.0, 2.0, dtype=half)
        if chosen != "kept":
            x.grad_dtype = None if chosen == "none" else lib.float32
        for function in (
            lambda t: t.float().sum(), lambda t: (t * 2).sum(), lambda t: (t * lib.ones(2)).sum(),
            lambda t: (t.float() * lib.ones(2)).sum(), lambda t: t.sum(dtype=lib.float32),
            lambda t: lib.cat([t, lib.ones(1)]).sum(), lambda t: (t @ t), lambda t: t.exp().sum(),
            lambda t: (t + lib.ones(2, dtype=lib.double)).sum(), lambda t: t.view(2, 1).sum(),
        ):  # fmt: skip
            x.grad = None
            log.attempt(lambda f=function, x=x: f(x).backward())
            log(x.grad)
