"""Dual tensors: numbers of levels, places of tangents in memory, what is printed."""

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


@scenario
def numbers_of_levels(lib, log):
    forward = lib.autograd.forward_ad
    x = lib.ones(2)

    def all_numbers():
        for level in (None, 0, 1, -1, -2):
            log.attempt(lambda level=level: forward.unpack_dual(x, level=level))
            log.attempt(
                lambda level=level: list(forward.unpack_dual(forward.make_dual(x, x, level=level)))
            )

    all_numbers()
    with forward.dual_level():
        all_numbers()
        dual = forward.make_dual(x, x)
        log.attempt(lambda: forward.unpack_dual(dual, level=1))
        log.attempt(lambda: forward.unpack_dual(dual, level=-1))
        log.attempt(lambda: forward.exit_dual_level(level=3))
    log.attempt(lambda: forward.exit_dual_level(level=0))


@scenario
def storages_of_tangents(lib, log):
    forward = lib.autograd.forward_ad
    for start in (0, 1):
        primal = lib.arange(5.0)[start : start + 4].detach()
        tangent = lib.arange(4.0) + 1
        with forward.dual_level():
            dual = forward.make_dual(primal, tangent)
            found = forward.unpack_dual(dual).tangent
            log(found is tangent, len(found.storage()), found.storage_offset(), found)
            found.mul_(2)
            log(tangent)
            whole = dual.as_strided((5,), (1,), 0)
            log(whole, forward.unpack_dual(whole).tangent)
            whole.mul_(3)
            log(forward.unpack_dual(dual).tangent, primal)


@scenario
def gradients_of_moved_tangents(lib, log):
    forward = lib.autograd.forward_ad
    tangent = leaf(lib, 1.0, 2.0)
    with forward.dual_level():
        dual = forward.make_dual(lib.ones(3)[1:].detach(), tangent)
        forward.unpack_dual(dual.sin()).tangent.sum().backward()
    log(tangent.grad)


@scenario
def empty_and_single(lib, log):
    forward = lib.autograd.forward_ad
    pairs = [
        (lib.tensor([1.0]).as_strided((0,), (1,), 1), lib.tensor([1.0]).as_strided((0,), (1,), 2)),
        (lib.ones(0).as_strided((0, 1), (1, 1), 0), lib.ones(0).as_strided((0, 1), (1, 0), 0)),
        (lib.tensor([1.0]).as_strided((1,), (2,), 0), lib.tensor([1.0])),
    ]
    for primal, tangent in pairs:
        with forward.dual_level():
            dual = forward.make_dual(primal, tangent)
            log(forward.unpack_dual(dual).tangent is tangent)
            log(forward.unpack_dual(dual[1:]).tangent)


@scenario
def printed_tangents(lib, log):
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        plain = lib.arange(3.0)
        dual = forward.make_dual(plain, lib.ones(3))
        log(str(plain), str(dual), repr(dual[0]), f"{dual[1]}", str(dual.sum()))
        primal, tangent = forward.unpack_dual(dual)
        log(str(primal), str(tangent))
        dual = forward.make_dual(leaf(lib, 1.0), lib.ones(1))
        log(str(dual), repr(dual[0]))
        dual = forward.make_dual(lib.ones(1, dtype=lib.float64), lib.ones(1, dtype=lib.float64))
        log(repr(dual[0]))


@scenario
def wide_checks(lib, log):
    a = lib.rand(3, 3, dtype=lib.float64, requires_grad=True)
    b = lib.rand(3, 3, dtype=lib.float64, requires_grad=True)
    every = ("check_forward_ad", "check_batched_grad", "check_batched_forward_grad")
    options = dict.fromkeys(every, True)
    for function, inputs in [
        (lib.sin, (a,)),
        (lib.add, (a, b)),
        (lib.mm, (a, b)),
        (lambda x: x.cumsum(0) * x.transpose(0, 1), (a,)),
        (lambda x: x.clone().t().mul_(x), (a,)),
    ]:
        log(lib.autograd.gradcheck(function, inputs, **options))


@scenario
def writes_into_transposed(lib, log):
    forward = lib.autograd.forward_ad
    writes = [
        lambda x, y: x.sub_(y),
        lambda x, y: x.div_(y),
        lambda x, y: x.addcmul_(y, y),
        lambda x, y: x.lerp_(y, 0.5),
        lambda x, y: x.index_add_(0, lib.tensor([0, 1]), y),
    ]
    for write in writes:
        base = lib.ones(2, 2)
        view = base.transpose(0, 1)
        with forward.dual_level():
            write(view, forward.make_dual(lib.arange(1.0, 5).view(2, 2), lib.ones(2, 2)))
            whole, part = (forward.unpack_dual(x).tangent for x in (base, view))
            log(whole, part, part._base is whole, part.stride())


@scenario
def results_of_jvp(lib, log):
    forward = lib.autograd.forward_ad

    def made(run, jvp):
        methods = {"forward": staticmethod(run), "jvp": staticmethod(jvp)}
        return type("Made", (lib.autograd.Function,), methods)

    def second_without(ctx, x, y):
        result = y.clone()
        ctx.mark_non_differentiable(result)
        return x.clone(), result

    with forward.dual_level():
        x = forward.make_dual(lib.tensor(2.0), lib.tensor(1.0))
        number, whole = lib.tensor(3.0), lib.tensor(3)
        twice = made(second_without, lambda ctx, s, t: (s, s.clone()))
        log.attempt(lambda: twice.apply(x, number))
        log.attempt(lambda: twice.apply(x, whole))
        once = made(second_without, lambda ctx, s, t: (s, None))
        for y in (number, whole):
            log([forward.unpack_dual(result).tangent for result in once.apply(x, y)])
        outputs = made(lambda ctx, a: (a.clone(), a.clone()), lambda ctx, s: s)
        log.attempt(lambda: outputs.apply(x))
        outputs = made(lambda ctx, a: (a.clone(), a.clone()), lambda ctx, s: (s, 1))
        log.attempt(lambda: outputs.apply(x))
        outputs = made(lambda ctx, a: (a.clone(), a.clone()), lambda ctx, s: (s, s[None]))
        log.attempt(lambda: outputs.apply(x))
