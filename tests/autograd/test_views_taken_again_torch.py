"""Views taken again of other bases, and tensors as instances of subclasses."""

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


def geometry(tensor):
    place = tensor.storage_offset()
    return tuple(tensor.shape), tensor.stride(), place, str(tensor.dtype)


VIEWS = [
    ((2, 2), lambda lib, x: lib.ops.aten.alias.default(x)),
    ((2, 2), lambda lib, x: lib.as_strided(x, (4,), (1,))),
    ((2, 4), lambda lib, x: lib.chunk(x, 2, -1)[1]),
    ((4, 4), lambda lib, x: lib.diagonal(x)),
    ((4, 1), lambda lib, x: x.expand(-1, 3)),
    ((2, 2), lambda lib, x: lib.narrow(x, 0, 1, 1)),
    ((2, 3, 4), lambda lib, x: lib.permute(x, (1, 0, 2))),
    ((2, 2), lambda lib, x: lib.select(x, 0, 1)),
    ((2, 4), lambda lib, x: lib.split_with_sizes(x, [1, 3], -1)[1]),
    ((2, 1, 1, 4), lambda lib, x: lib.squeeze(x, [1, 2])),
    ((2, 4), lambda lib, x: x.t()),
    ((2, 5), lambda lib, x: lib.unbind(x)[1]),
    ((1, 5), lambda lib, x: x.unfold(1, 3, 2)),
    ((2, 10), lambda lib, x: x.view(-1, 5, 2)),
    ((2, 2), lambda lib, x: lib.view_as_complex(x)),
    ((2, 3), lambda lib, x: x.view(lib.int32)),
    ((4,), lambda lib, x: x[::2]),
    ((2, 4), lambda lib, x: x.unsqueeze(-1).transpose(-1, -2).squeeze(1)),
    ((2, 3, 4), lambda lib, x: x.chunk(2, -1)[0].transpose(0, 1).unsqueeze(-1)),
    ((2, 3, 4), lambda lib, x: x.split_with_sizes([1, 3], -1)[0].chunk(2, 0)[1]),
]


@scenario
def views_taken_again(lib, log):
    for tracked in (True, False):
        with lib.autograd._force_original_view_tracking(tracked):
            for shape, taken in VIEWS:
                base = lib.rand(*shape)
                view = taken(lib, base)
                other = lib.rand(*shape)
                again = view._view_func(other)
                log(geometry(again) == geometry(view), again._base is other)
                log(lib.equal(again, taken(lib, other)))
                log(lib.equal(view._view_func_unsafe(other), again))
                alone = view.detach()
                log.attempt(lambda view=view, alone=alone: back(view, alone))


def back(view, alone):
    base = view._rev_view_func_unsafe(alone)
    return [geometry(base), base._is_view(), base._base is alone]


@scenario
def complex_views_taken_again(lib, log):
    base = lib.rand(2, 3, dtype=lib.complex64)
    view = lib.view_as_real(base)
    other = base + 1
    log(lib.equal(view._view_func(other), lib.view_as_real(other)))
    log(back(view, view.detach()))


@scenario
def bases_that_do_not_fit(lib, log):
    log(lib.ones(2)._view_func(lib.ones(2)), lib.ones(2)._rev_view_func_unsafe(lib.ones(2)))
    for tracked in (True, False):
        with lib.autograd._force_original_view_tracking(tracked):
            view = lib.rand(2, 3).t()
            bases = [
                *(lib.ones(2, 3), lib.ones(3, 2), lib.ones(6), lib.ones(3, 2).t()),
                *(lib.ones(4, 6)[:2, :3], lib.ones(2, 3, dtype=lib.float64)),
            ]
            for base in bases:
                log(view._view_func(base))
                log(view._view_func_unsafe(base))


@scenario
def histories_of_views_taken_again(lib, log):
    for tracked in (True, False):
        with lib.autograd._force_original_view_tracking(tracked):
            x = lib.ones(2, 3, requires_grad=True)
            other = lib.ones(2, 3, requires_grad=True)
            again = x[0]._view_func(other)
            log.facts(again)
            again.sum().backward()
            log(x.grad, other.grad)


@scenario
def subclasses(lib, log):
    class Own(lib.Tensor):
        pass

    x = leaf(lib, 1.0, 2.0)
    own = x.as_subclass(Own)
    log(type(own).__name__)
    log.facts(own)
    (own * 3).sum().backward()
    log(x.grad)
    # one version for both
    middle = x * 2
    squared = middle * middle
    with lib.no_grad():
        middle.as_subclass(Own).add_(1)
    log(middle._version)
    log.attempt(lambda: squared.sum().backward())
    # a write through the view gives the base a history
    plain = lib.ones(2)
    plain.as_subclass(Own).add_(x)
    log.facts(plain)
    log.attempt(lambda: x.as_subclass(int))
    back = own.as_subclass(lib.Tensor)
    log(repr(back), back.grad_fn.name())


@scenario
def leaves_of_subclasses(lib, log):
    class Own(lib.Tensor):
        pass

    x = leaf(lib, 1.0, 2.0)
    made = lib.Tensor._make_subclass(Own, x * 2, True)
    log(type(made).__name__, repr(made))
    log.facts(made)
    (made.as_subclass(lib.Tensor) * 2).sum().backward()
    log(made.grad, x.grad)
    log.facts(lib.Tensor._make_subclass(Own, x))
    log.attempt(lambda: lib.Tensor._make_subclass(Own, lib.ones(2, dtype=lib.int64), True))
    log.attempt(lambda: lib.Tensor._make_subclass(Own, 3))
    log.attempt(lambda: lib.Tensor._make_subclass(int, x))
