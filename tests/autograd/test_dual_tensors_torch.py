"""Dual tensors: packing, layouts, views, writes, levels and modes; scenarios for both libraries."""

from __future__ import annotations

import gc
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


def dual_of(lib, primal, tangent):
    return lib.autograd.forward_ad.make_dual(lib.tensor(primal), lib.tensor(tangent))


@scenario
def levels(lib, log):
    ad = lib.autograd.forward_ad
    primal, tangent = lib.ones(2), lib.ones(2)
    log.attempt(lambda: ad.make_dual(primal, tangent))
    log.attempt(lambda: ad.exit_dual_level())
    with ad.dual_level() as level:
        log(level)
        log.attempt(ad.enter_dual_level)
        dual = ad.make_dual(primal, tangent)
        inside = ad.unpack_dual(dual)
        log(type(inside).__name__, inside.tangent is tangent, inside.primal, inside.primal is dual)
        log(ad.unpack_dual(primal).tangent)
    log(ad.unpack_dual(dual), ad.unpack_dual(dual).tangent)
    with ad.dual_level():
        log(ad.unpack_dual(dual).tangent)
        again = ad.make_dual(primal, lib.zeros(2))
        log(ad.unpack_dual(again).tangent, ad.unpack_dual(dual).tangent)
    level = ad.enter_dual_level()
    log(level)
    log.attempt(lambda: ad.exit_dual_level(level=3))
    ad.exit_dual_level(level=level)
    log.attempt(lambda: ad.exit_dual_level(level=level))


@scenario
def refused_duals(lib, log):
    ad = lib.autograd.forward_ad
    one, two = lib.ones(2), lib.ones(3)
    whole = lib.ones(2, dtype=lib.long)
    with ad.dual_level():
        log.attempt(lambda: ad.make_dual(one, two))
        log.attempt(lambda: ad.make_dual(one, two[1:]))
        log.attempt(lambda: ad.make_dual(one, whole))
        log.attempt(lambda: ad.make_dual(whole, whole))
        log.attempt(lambda: ad.make_dual(whole, one))
        log.attempt(lambda: ad.make_dual(one, one.double()))
        log.attempt(lambda: ad.make_dual(one, one + 0j))
        dual = ad.make_dual(one, lib.ones(2))
        log.attempt(lambda: ad.make_dual(lib.ones(2), dual))
        log.attempt(lambda: ad.make_dual(dual, lib.ones(2)))
        log.attempt(lambda: ad.make_dual(1.0, lib.ones(())))
        log.attempt(lambda: ad.make_dual(one, 1.0))
        log.attempt(lambda: ad.make_dual(one, None))
        log.attempt(lambda: ad.unpack_dual(1.0))


@scenario
def memory_and_counters(lib, log):
    ad = lib.autograd.forward_ad
    primal, tangent = lib.tensor([1.0, 2.0]), lib.ones(2)
    with ad.dual_level():
        dual = ad.make_dual(primal, tangent)
        log(dual.data_ptr() == primal.data_ptr(), dual._version, primal._version, dual._is_view())
        primal.add_(1)
        log(dual._version, primal._version)
        p, t = ad.unpack_dual(dual)
        log(p.data_ptr() == primal.data_ptr(), t is tangent, p._version, p._is_view(), p)
        tangent.add_(1)
        log(t._version, tangent._version, ad.unpack_dual(dual).tangent)
        dual *= 2
        log(tangent, primal, ad.unpack_dual(dual), ad.unpack_dual(primal).tangent)
        p *= 2
        log(ad.unpack_dual(dual))
        t *= 2
        log(ad.unpack_dual(dual), ad.unpack_dual(p).tangent, ad.unpack_dual(t).tangent)
        log("tangent=" in repr(dual), "tangent=" in repr(primal), "tangent=" in repr(p))
        log(repr(dual))


@scenario
def backward_through_duals(lib, log):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        primal, tangent = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        dual = ad.make_dual(primal, tangent)
        for part in ad.unpack_dual(dual):
            log(lib.autograd.grad(part.sum(), (primal, tangent), allow_unused=True))
        for part in ad.unpack_dual(dual * dual):
            grads = lib.autograd.grad(
                part.sum(), (primal, tangent), retain_graph=True, allow_unused=True
            )
            log(grads)
        cut = dual.detach() * 2
        log(ad.unpack_dual(cut))
        with lib.no_grad():
            log(ad.unpack_dual(dual * 3))
        copy = dual.clone()
        copy.detach_()
        log(ad.unpack_dual(copy * 2), copy.requires_grad)
        log(ad.unpack_dual(dual.requires_grad_() * 1).tangent)


@scenario
def views_and_writes(lib, log):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        primal = lib.tensor([1.0, 2.0])
        dual = ad.make_dual(primal, lib.ones(2))
        view = dual.narrow(0, 0, 1)
        view *= 2
        log(ad.unpack_dual(primal).tangent, ad.unpack_dual(dual), ad.unpack_dual(view))
        for write in (
            lambda t: t.add_(dual),
            lambda t: t.__setitem__(0, dual[0]),
            lambda t: t.copy_(dual),
            lambda t: t.mul_(dual),
            lambda t: t[1:].copy_(dual[:1]),
            lambda t: t.view_as(t).sub_(dual),
            lambda t: t.detach().add_(dual),
            lambda t: t.fill_(dual[0]),
            lambda t: t.data.add_(dual),
        ):
            other = lib.tensor([5.0, 6.0])
            log.attempt(lambda write=write, other=other: write(other))
            log(other, ad.unpack_dual(other).tangent)
        for write in (
            lambda t: t.zero_(),
            lambda t: t.fill_(2.0),
            lambda t: t.copy_(lib.ones(2)),
            lambda t: t.__setitem__(0, 7.0),
            lambda t: t[:1].zero_(),
            lambda t: t.eq_(lib.ones(2)),
            lambda t: t.exp_(),
            lambda t: t.t_(),
        ):
            again = dual_of(lib, [1.0, 2.0], [3.0, 4.0])
            log.attempt(lambda write=write, again=again: write(again))
            log(again, ad.unpack_dual(again).tangent)


@scenario
def writes_through_transposed_views(lib, log):
    ad = lib.autograd.forward_ad
    values = lib.arange(4.0).view(2, 2)
    for write in (
        lambda v, d: v.add_(d), lambda v, d: v.mul_(d), lambda v, d: v.copy_(d),
        lambda v, d: v.div_(d + 1), lambda v, d: v.addcmul_(d, d),
    ):  # fmt: skip
        base = values + 1
        view = base.transpose(0, 1)
        with ad.dual_level():
            dual = ad.make_dual(values + 2, values * 3)
            log.attempt(lambda write=write, view=view, dual=dual: write(view, dual))
            log(ad.unpack_dual(base), ad.unpack_dual(view))
            view *= 2
            log(ad.unpack_dual(base), ad.unpack_dual(view).tangent._is_view())


@scenario
def layouts_of_tangents(lib, log):
    ad = lib.autograd.forward_ad
    rows = lib.arange(6.0).view(2, 3)
    cases = [
        (rows, rows.clone()),
        (rows, rows.view(3, 2).t()),
        (rows.view(3, 2).t(), rows.clone()),
        (lib.ones(5)[:4].detach(), lib.ones(4)),
        (lib.ones(4), lib.ones(5)[:4].detach()),
        (lib.ones(2).as_strided((0,), (1,), 1), lib.ones(2).as_strided((0,), (1,), 2)),
        (lib.ones(1).as_strided((1,), (2,), 0), lib.ones(1).as_strided((1,), (1,), 0)),
        (rows[:, :2], lib.ones(2, 2)),
    ]
    with ad.dual_level():
        for primal, tangent in cases:
            dual = ad.make_dual(primal, tangent)
            kept = ad.unpack_dual(dual).tangent
            log(kept is tangent, kept, tuple(kept.stride()))
            log(ad.unpack_dual(dual[:1]).tangent)
        empty = lib.ones(0).as_strided((0, 1), (1, 1), 0)
        log.attempt(lambda: lib.diagonal(ad.make_dual(empty, lib.ones(0, 1)), offset=0))


@scenario
def conjugate_primals(lib, log):
    ad = lib.autograd.forward_ad
    forms = (lambda t: t, lambda t: t.conj(), lambda t: t.resolve_conj())
    for first, second in itertools.product(forms, forms):
        with ad.dual_level():
            primal = first(lib.tensor([[1 + 2j, 3j], [4.0, 5 - 1j]]))
            tangent = second(lib.tensor([[1j, 2.0], [3 + 1j, 4j]]))
            dual = ad.make_dual(primal, tangent)
            for part in (dual, dual.real, dual.imag, dual[1:], dual.conj(), dual * dual):
                log(ad.unpack_dual(part))
    with ad.dual_level():
        primal = lib.tensor([[1 + 2j, 3j]]).conj().imag
        dual = ad.make_dual(primal, lib.tensor([[1j, 2.0]]).imag)
        log(ad.unpack_dual(dual[0]), ad.unpack_dual(dual * 2))


@scenario
def copies(lib, log):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        tangent = lib.tensor([[5.0], [6.0]])
        dual = ad.make_dual(lib.tensor([[3.0], [4.0]]), tangent)
        plain = lib.tensor([[1.0], [2.0]])
        plain.copy_(dual)
        log(ad.unpack_dual(plain), ad.unpack_dual(plain).tangent is tangent)
        for shape in ((1, 2, 1), (2, 2), (3, 2, 2)):
            wide = lib.zeros(shape)
            wide.copy_(dual)
            log(ad.unpack_dual(wide))
        for dtype in (lib.float64, lib.complex64, lib.int64):
            log.attempt(lambda dtype=dtype: ad.unpack_dual(dual.to(dtype)))


@scenario
def given_outputs_and_comparisons(lib, log):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        dual, plain = dual_of(lib, [1.0, 2.0], [3.0, 4.0]), lib.ones(2)
        log.attempt(lambda: lib.add(plain, plain, out=dual.clone()))
        log.attempt(lambda: lib.add(dual, plain, out=plain.clone()))
        log.attempt(lambda: lib.sin(dual, out=lib.zeros(2)))
        log.attempt(lambda: dual == plain)
        log.attempt(lambda: ad.unpack_dual(dual > 1))
        log.attempt(lambda: ad.unpack_dual(dual.argmax()))
        log.attempt(lambda: ad.unpack_dual(dual.round()))
        log.attempt(lambda: ad.unpack_dual(lib.zeros_like(dual)))
        log.attempt(lambda: ad.unpack_dual(dual.new_ones(2)))
        log.attempt(lambda: (dual.sort(), ad.unpack_dual(dual.sort()[1])))
        log.attempt(lambda: dual.numpy())
        log.attempt(lambda: dual.tolist())
        log.attempt(lambda: dual[0].item())
        log.attempt(lambda: lib.tensor(dual[0]))


@scenario
def switching_forward_mode_off(lib, log):
    ad = lib.autograd.forward_ad
    log(ad._is_fwd_grad_enabled())
    with ad.dual_level():
        dual = dual_of(lib, [1.0], [2.0])
        with ad._set_fwd_grad_enabled(False):
            log(ad._is_fwd_grad_enabled(), ad.unpack_dual(dual * 2).tangent)
            with ad._set_fwd_grad_enabled(True):
                log(ad.unpack_dual(dual * 2).tangent)
            log(ad.unpack_dual(dual).tangent)
            log.attempt(lambda: ad.unpack_dual(dual_of(lib, [1.0], [2.0])).tangent)
        log(ad.unpack_dual(dual * 2).tangent)
    log(ad._is_fwd_grad_enabled())


@scenario
def inference_mode(lib, log):
    ad = lib.autograd.forward_ad
    with lib.inference_mode():
        primal, tangent = lib.ones(2), lib.ones(2)
        with ad.dual_level():
            dual = ad.make_dual(primal, tangent)
            log(dual._is_view(), dual.is_inference())
            dual += 1
            log(primal, ad.unpack_dual(dual))
            log(ad.unpack_dual(dual * dual))
    normal = lib.ones(2)
    with ad.dual_level():
        dual = ad.make_dual(normal, lib.ones(2))
        with lib.inference_mode():
            log(ad.unpack_dual(dual * 2), (dual * 2).is_inference())


@scenario
def lifetimes(lib, log):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        tangent = leaf(lib, 1.0, 2.0)
        reference = weakref.ref(tangent)
        dual = ad.make_dual(lib.ones(2), tangent)
        del tangent
        log(reference() is not None)
        del dual
        log(reference() is not None)

        def cycle():
            inner = leaf(lib, 1.0)
            return weakref.ref(ad.make_dual(lib.ones(1), inner).exp())

        dead = cycle()
    gc.collect()
    log(dead())
    primal = lib.ones(2)
    reference = weakref.ref(primal)
    cut = primal.detach()
    del primal
    log(reference(), cut)


@scenario
def second_order_of_both_kinds(lib, log):
    ad = lib.autograd.forward_ad
    with ad.dual_level():
        x = leaf(lib, 0.5, 1.0, dtype=lib.float64)
        dual = ad.make_dual(x, lib.ones(2, dtype=lib.float64))
        y = (dual**3).sum()
        (grad,) = lib.autograd.grad(y, dual, create_graph=True)
        log(ad.unpack_dual(grad))
        log(lib.autograd.grad(ad.unpack_dual(y).tangent, x))
        y = (dual.exp() * dual).sum()
        y.backward()
        log(x.grad)
