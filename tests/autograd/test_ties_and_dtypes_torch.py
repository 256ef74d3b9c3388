"""Gradients of ties, distances, pairs of dtypes and layouts; scenarios for both libraries."""

from __future__ import annotations

import functools
import math
import sys
import warnings

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


def doubles(lib, *shape, dtype=None, requires_grad=True):
    return lib.rand(*shape, dtype=dtype or lib.float64).requires_grad_(requires_grad)


def gradients(lib, function, *inputs):
    """The gradients of a function's summed results, None where there is none."""
    found = lib.autograd.grad(function(*inputs).sum(), inputs, allow_unused=True)
    return list(found)


@scenario
def ties_share_the_gradient(lib, log):
    nan = float("nan")
    reductions = {
        "min": lib.min,
        "max": lib.max,
        "median": lib.median,
        "nanmedian": lib.nanmedian,
        "amin": lib.amin,
        "amax": lib.amax,
        "aminmax.min": lambda x: lib.aminmax(x).min,
        "aminmax.max": lambda x: lib.aminmax(x).max,
        "both": lambda x: sum(lib.aminmax(x)),
    }
    for name, function in reductions.items():
        for values in ([1.0, 0.0, 1.0, 0.0, 1.0], [3.0, 1.0, 3.0, 1.0], [nan, nan], [nan, 1.0]):
            x = leaf(lib, *values)
            log.attempt(lambda x=x, f=function: [bool(v) for v in (f(x) == f(x))[None]])
            found = gradients(lib, function, x)[0]
            log(name, found.nan_to_num(nan=-7.0))
        table = lib.tensor([[2.0, 2.0], [1.0, 2.0]], requires_grad=True)
        log(name, gradients(lib, function, table))
    table = lib.tensor([[2.0, 2.0], [1.0, 2.0]], requires_grad=True)
    for dim in (0, 1):
        log(gradients(lib, lambda x, dim=dim: lib.max(x, dim).values, table))
        log(gradients(lib, lambda x, dim=dim: lib.amax(x, dim), table))
        log(gradients(lib, lambda x, dim=dim: sum(lib.aminmax(x, dim=dim)), table))


@scenario
def reductions_into_places(lib, log):
    if lib is torch:  # it warns once that `index_reduce` is new to it
        with warnings.catch_warnings(action="ignore"):
            lib.index_reduce(lib.ones(1), 0, lib.tensor([0]), lib.ones(1), "mean")
    for name in ("amin", "amax", "prod", "mean", "sum"):
        for function in (lib.scatter_reduce, lib.index_reduce):
            if name == "sum" and function is lib.index_reduce:
                continue
            into = doubles(lib, 2, 3)
            source = into.detach().clone().requires_grad_()
            index = lib.arange(2)
            if function is lib.scatter_reduce:
                index = index.unsqueeze(-1).expand(2, 3)
            run = lambda a, b, f=function, i=index, name=name: f(a, 0, i, b, name)  # noqa: E731
            log(gradients(lib, run, into, source))
            if name not in ("amin", "amax"):  # all ties here
                log(lib.autograd.gradcheck(run, (into, source)))


@scenario
def second_derivatives_of_products_with_zeros(lib, log):
    into = leaf(lib, 1.0, dtype=lib.float64)
    source = leaf(lib, 0.0, 0.0, dtype=lib.float64)
    index = lib.tensor([0, 0])
    for function in (lib.scatter_reduce, lib.index_reduce):
        run = lambda a, b, f=function: f(a, 0, index, b, "prod")  # noqa: E731
        log(gradients(lib, run, into, source))
        log(lib.autograd.gradcheck(run, (into, source)))
        log.attempt(lambda run=run: lib.autograd.gradgradcheck(run, (into, source)))
        first = lib.autograd.grad(run(into, source).sum(), source, create_graph=True)[0]
        log.attempt(lambda first=first: lib.autograd.grad(first.sum(), source))


@scenario
def python_numbers(lib, log):
    whole = lib.zeros(1, 1, 1, dtype=lib.int64)
    real = lib.zeros(1, 1, dtype=lib.float64)
    for value in (-12345, 1234567890123456789, 0, -2):
        whole[0] = value
        log(int(whole), float(whole), bool(whole))
    for value in (-12345.1, 0.0, sys.float_info.min, sys.float_info.max):
        real[0] = value
        log(int(real), float(real), bool(real))
    for value in (math.nan, math.inf, -math.inf):
        real[0] = value
        log(repr(float(real)), bool(real))
        log.attempt(lambda: int(real[0]))
        log.attempt(lambda: int(real))
    for tensor in (lib.zeros(2), lib.zeros(0)):
        log.attempt(lambda tensor=tensor: int(tensor))
        log.attempt(lambda tensor=tensor: bool(tensor))
        log.attempt(lambda tensor=tensor: float(tensor))
    log.attempt(lambda: float(leaf(lib, 2.5)))
    log.attempt(lambda: complex(leaf(lib, 2.5)))
    log.attempt(lambda: float(lib.tensor([1 + 2j])))
    log.attempt(lambda: int(lib.tensor(1 + 2j)))


@scenario
def only_numbers_with_a_fraction_require_gradients(lib, log):
    def assign(tensor):
        tensor.requires_grad = True

    for dtype in (
        lib.float32,
        lib.float16,
        lib.bfloat16,
        lib.int8,
        lib.int64,
        lib.bool,
        lib.cfloat,
    ):
        tensor = lib.ones(1, dtype=dtype)
        tensor.requires_grad = False
        log(tensor.requires_grad_(False))
        log.attempt(lambda tensor=tensor: tensor.requires_grad_())
        log.attempt(lambda dtype=dtype: assign(lib.ones(1, dtype=dtype)))
        log.attempt(lambda dtype=dtype: lib.ones(1, dtype=dtype, requires_grad=True))
        log.attempt(
            lambda dtype=dtype, tensor=tensor: lib.zeros_like(
                tensor, dtype=dtype, requires_grad=True
            )
        )
        log.attempt(lambda dtype=dtype: lib.empty(0, dtype=dtype, requires_grad=True))
        log.attempt(
            lambda dtype=dtype, tensor=tensor: tensor.new_ones(1, dtype=dtype, requires_grad=True)
        )
        log.attempt(lambda dtype=dtype: lib.tensor([1], dtype=dtype, requires_grad=True))
    base = lib.rand(2, 3, dtype=lib.float64)
    for make in (lib.ones_like, lib.randn_like):
        for flag in (True, False):
            made = make(base, dtype=lib.float32, device="cpu", requires_grad=flag)
            log(made.requires_grad, made.is_leaf, str(made.dtype), str(made.device))


@scenario
def assigned_gradients(lib, log):
    def assign(tensor, value):
        tensor.grad = value

    x = lib.rand(5, 5)
    for value in (0, "a", [1.0], lib.rand(2, 2), lib.ones(5, 5, dtype=lib.int64), x, None):
        log.attempt(lambda value=value: assign(x, value))
    log.attempt(lambda: assign(x, lib.ones(5, 5, dtype=lib.float64)))
    log.attempt(lambda: assign(x, lib.ones(5, 5).t()))
    log(x.grad is not None, x.grad.stride())
    log.attempt(lambda: assign(x, lib.ones(25)))
    log.attempt(lambda: assign(x, lib.ones(5, 5, requires_grad=True)))
    log(x.grad.requires_grad)
    log.attempt(lambda: delattr(x, "grad"))
    log(x.grad)
    whole = lib.ones(2, dtype=lib.int64)
    log.attempt(lambda: assign(whole, lib.ones(2, dtype=lib.int64)))


@scenario
def choices(lib, log):
    mask = lib.tensor([[True, False], [False, False]])
    x, y = doubles(lib, 2, 2), doubles(lib, 2, 2)
    log(lib.autograd.gradcheck(lib.where, [mask, x, y]))
    log(lib.autograd.gradgradcheck(lib.where, [mask, x, y], [lib.rand(2, 2)]))
    x, y = doubles(lib, 2, 1, 2), doubles(lib, 2, 2, 1)
    log(lib.autograd.gradcheck(lib.where, [mask, x, y]))
    log(lib.autograd.gradgradcheck(lib.where, [mask, x, y], [lib.rand(2, 2, 2)]))
    for run in (lambda m, a: lib.where(m, 4.0, a), lambda m, a: lib.where(m, a, 4)):
        log(gradients(lib, lambda a, run=run: run(mask, a), x))
        log(lib.autograd.gradgradcheck(run, (mask, x)))
    log.facts(lib.where(mask, 1.0, lib.ones(2, requires_grad=True)))


@scenario
def copies_between_dtypes(lib, log):
    x = leaf(lib, 1.0, 2.0)
    for dtype in (lib.float16, lib.bfloat16, lib.float64, lib.cfloat, lib.int64):
        y = lib.zeros(2, dtype=dtype)
        log.attempt(lambda y=y: y.copy_(x))
        log(y.requires_grad, type(y.grad_fn).__name__)
        log(x.to(dtype).requires_grad, type(x.to(dtype).grad_fn).__name__)
        if y.requires_grad:
            log(gradients(lib, lambda x, dtype=dtype: x.to(dtype).abs(), x))
            log(gradients(lib, lambda x, y=y: y.abs(), x))
    inputs = lib.tensor([1.5, -0.5], dtype=lib.float64, requires_grad=True)
    out = lib.zeros(2, dtype=lib.complex128)
    out.copy_(inputs)
    out.sum().abs().backward()
    log(inputs.grad)


@scenario
def real_and_complex_together(lib, log):
    real, both = doubles(lib, 2, 2), doubles(lib, 2, 2, dtype=lib.complex128)
    for pair in ((real, both), (both, real)):
        for join in (lib.cat, lib.stack, lib.hstack):
            log(
                lib.autograd.gradcheck(
                    lambda a, b, join=join: join((a, b)), pair, check_forward_ad=True
                )
            )
    exponent = doubles(lib, 2, dtype=lib.complex128)
    base = -lib.ones(2, dtype=lib.float64)
    log(lib.autograd.gradcheck(lambda e: lib.pow(base, e), (exponent,)))
    log(lib.autograd.gradcheck(lambda e: lib.pow(-1, e), (exponent,)))
    x = lib.zeros(1, requires_grad=True)
    log.attempt((x * 0.5j).backward)
    log.attempt(lambda: lib.autograd.grad(x * 0.5j, x))
    log.attempt(lambda: lib.autograd.grad((x * 0.5j).expand(2), x))
    log.attempt(lambda: lib.autograd.grad(x.expand(2), x))


@scenario
def which_input_was_unused(lib, log):
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0)
    log.attempt(lambda: lib.autograd.grad(x.sum(), (x, y)))
    log.attempt(lambda: lib.autograd.grad(y.sum(), (x, y)))
    log.attempt(lambda: lib.autograd.grad(y.sum(), (y, x, x)))


@scenario
def results_without_gradients(lib, log):
    x = lib.tensor([[1, 2], [3, 4.0]], requires_grad=True)
    log.facts(lib.isin(x, lib.tensor([2, 3])), lib.signbit(x), lib.isnan(x), x.argmax(), x > 1)
    log.facts(lib.bucketize(x, lib.tensor([2.0, 3.0])), lib.searchsorted(x.detach(), x))
    log.facts(lib.zeros_like(x), x.new_zeros(1), x.nonzero(), lib.count_nonzero(x))


@scenario
def special_points(lib, log):
    x, y = leaf(lib, 0.0), leaf(lib, 0.0)
    lib.atan2(x, y).backward()
    log(x.grad, y.grad)
    for shape in ((5, 2), (4, 1), (1, 5), (2, 5), (0, 2)):
        log(gradients(lib, lib.trace, lib.rand(*shape).requires_grad_()))
    matrix, vector = doubles(lib, 2, 2, requires_grad=False), doubles(lib, 1)
    log(lib.autograd.gradcheck(lambda v: (matrix @ v.expand(2)).sum(), vector))
    log(lib.autograd.gradgradcheck(lambda v: (matrix @ v.expand(2)).sum(), vector))
    index = lib.zeros(2, 8, 1, 2, dtype=lib.int64).contiguous(memory_format=lib.channels_last)
    x = lib.rand(2, 8, 1, 2, requires_grad=True)
    x[index].sum().backward()
    log(x.grad.sum(), x.grad.stride())


MODES = ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def distances(lib):
    """Kinds of distance with tensors to measure."""
    for p in (0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
        for mode in MODES if p == 2.0 else MODES[1:]:
            between = functools.partial(lib.cdist, p=p, compute_mode=mode)
            yield p, between, (doubles(lib, 2, 3), doubles(lib, 3, 3))
            yield p, between, (doubles(lib, 1, 2, 3), doubles(lib, 2, 3, 3))
        yield p, functools.partial(lib.nn.functional.pdist, p=p), (doubles(lib, 4, 2),)


@scenario
def gradients_of_distances(lib, log):
    for _, run, inputs in distances(lib):
        log(run(*inputs), gradients(lib, run, *inputs))


def test_second_derivatives_of_distances():
    retrograd.manual_seed(0)
    for p, run, inputs in distances(retrograd):
        if p >= 1:  # below, second derivatives are too steep for differences
            assert retrograd.autograd.gradgradcheck(run, inputs)


@scenario
def layouts_of_leaf_gradients(lib, log):
    formats = (lib.contiguous_format, lib.channels_last)
    for first in formats:
        for second in formats:
            a = lib.rand(2, 3, 4, 5).to(memory_format=first).requires_grad_()
            b = lib.rand(2, 3, 4, 5).to(memory_format=second).requires_grad_()
            a.sum().backward()
            log(a.stride(), a.grad.stride())
            a.grad = None
            (a * b).sum().backward()
            log(a.grad.stride(), b.grad.stride())
            (a * b).sum().backward()
            log(a.grad.stride(), b.grad.stride())
    c = lib.empty_strided((2, 2), (4, 2)).copy_(lib.rand(2, 2)).requires_grad_()
    c.sum().backward()
    log(c.grad.stride())
    c.grad = None
    (c * lib.rand(2, 2)).sum().backward()
    log(c.grad.stride())
    row = lib.rand(3, 2).t().requires_grad_()
    (row * lib.rand(2, 3)).sum().backward()
    log(row.grad.stride())


@scenario
def layout_policy(lib, log):
    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return lib.ones(2, 3, 4, 5)

    x = lib.rand(2, 3, 4, 5).to(memory_format=lib.channels_last).requires_grad_()

    def strides():
        x.grad = None
        Plain.apply(x).backward()
        return x.grad.stride()

    policy = lib.autograd.enforce_grad_layout_policy
    log(strides())
    with policy(False):
        log(strides())
        with policy(True):
            log(strides())
        log(strides())
    log(strides())
    policy(False)
    try:
        log(strides())
    finally:
        policy(True)
    decorated = policy(False)(strides)
    log(strides(), decorated(), strides())


@scenario
def counters_of_resized_tensors(lib, log):
    x, y = lib.rand(1), lib.rand(3)
    for change in (
        lambda: x.resize_((1, 2)),
        lambda: x.resize_as_(y),
        lambda: x.resize_((3,)),
        lambda: x.resize_as_(y),
        lambda: x.resize_(3, 1),
    ):
        change()
        log(x._version, tuple(x.shape))
    parameter = lib.nn.Parameter(lib.ones(16, dtype=lib.float64))
    for _ in range(2):
        with lib.no_grad():
            parameter.set_(parameter[1:])
            parameter.grad = None
        lib.cat((parameter, parameter)).sum().backward()
        log(tuple(parameter.shape), parameter.grad, parameter._version)
