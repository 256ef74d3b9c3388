"""Indexing, in-place writes, versions and views; scenarios for both libraries."""

from __future__ import annotations

import gc
import pickle

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


def indices(lib):
    flat = [
        1,
        (1, 1),
        slice(1, None),
        (slice(None, 2), 2),
        (1, slice(2, None)),
        (slice(None), slice(2, None)),
        lib.tensor([0, 2]),
        lib.tensor([[True, False, True, False]] * 4),
        (Ellipsis, slice(2, None)),
        ([0], [0]),
        ([1, 2, 3], [0]),
        ([[1, 2], [3, 0]], [[0, 1], [2, 3]]),
        (slice(None), [2, 3]),
        ([2, 3], slice(None)),
        [0],
        ([0],),
        [1, 1, 3, 2, 1],
        ([[1, 2], [0, 0]], [[0, 1], [1, 1]]),
        (None, 1),
    ]
    deep = [
        (slice(None), [0], [0]),
        ([0, 1, 2], [0], slice(None)),
        (slice(None), [[1, 2], [2, 0]], [[0, 1], [2, 3]]),
        (slice(None), [2, 1], slice(None)),
        ([2, 1], slice(None), slice(None)),
        ([2, 1], slice(None), [0, 1]),
        ([0], Ellipsis),
        (Ellipsis, [1, 2], [0, 1]),
        (lib.tensor([0, 1]), Ellipsis),
        ([1, 1, 1], slice(None), slice(None)),
    ]
    return [((4, 4), one) for one in flat] + [((4, 3, 4), one) for one in deep]


@scenario
def reading_by_index(lib, log):
    for shape, index in indices(lib):
        count = 16 if len(shape) == 2 else 48
        x = lib.arange(float(count)).view(shape).requires_grad_()
        part = x[index]
        weight = lib.arange(float(part.numel())).view(part.shape)
        (part * weight).sum().backward()
        log(part, x.grad, type(part.grad_fn).__name__)


@scenario
def writing_by_index(lib, log):
    for shape, index in indices(lib):
        x = lib.ones(shape, requires_grad=True)
        y = x + 2
        before = y._version
        y[index] = 2
        log(y._version - before)
        y.sum().backward()
        log(x.grad)
        x.grad = None
        y = x + 2
        value = x.detach()[index].mul(7).requires_grad_()
        y[index] = value
        log(type(y.grad_fn).__name__)
        (y * y).sum().backward()
        log(x.grad)
    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    y = lib.zeros(2, 3, 4)
    y[1] = x
    y.backward(lib.ones(2, 3, 4))
    log(x.grad)


@scenario
def masks_and_parts(lib, log):
    b = leaf(lib, 0.0, 0.0, 0.0)
    copied = b + 0
    mask = lib.tensor([1.0, 0.0, 0.0]) != 0
    copied[mask] = copied[mask]
    copied.backward(lib.ones(3))
    log(b.grad)
    x = lib.arange(9.0).reshape(3, 3).requires_grad_()
    for part, seed in (
        (x.diagonal(), lib.tensor(2.0).expand(3)),
        (x[0], lib.tensor([4.0]).expand(3)),
        (x[1:3], lib.tensor([[1.0], [2.0]]).expand(2, 3)),
        (x.select(0, 1).sum(), None),
        (x.chunk(3)[2], lib.ones(1, 3)),
    ):
        log(lib.autograd.grad(part, x, seed))
    mixed = lib.zeros(2, 2)
    y, z = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    mixed[0] = y
    mixed[1] = 2 * z
    log.facts(mixed)
    mixed.sum().backward()
    log(y.grad, z.grad)


@scenario
def writes_that_spoil_saved_values(lib, log):
    x, y = lib.ones(2, requires_grad=True), lib.full((2,), 4.0, requires_grad=True)
    z = x * y
    q, w = z + y, z * y
    z.add_(2)
    log.attempt(lambda: q.sum().backward(retain_graph=True))
    log.attempt(lambda: w.sum().backward())
    z = x * y
    q, r, w = z * y, z + y, z.add_(y)
    log.attempt(lambda: w.sum().backward(retain_graph=True))
    log.attempt(lambda: r.sum().backward(retain_graph=True))
    log.attempt(lambda: q.sum().backward())
    log(x.grad, y.grad)
    z = x / 2 + y / 8
    q, r = z * y, z + y
    before = z._version
    w = z.exp_()
    log(z._version - before, w is z)
    for one in (r, w, q):
        log.attempt(lambda one=one: one.sum().backward(retain_graph=True))
        log(x.grad)
    copied = x.clone()
    copied.add_(10)
    y = copied + 2
    y.sum().backward()
    z = copied * y
    copied.add_(2)
    log.attempt(lambda: z.sum().backward())
    log(x.grad)


@scenario
def names_in_version_errors(lib, log):
    class Named(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    makers = (
        lambda a: a + 1,
        lambda a: a.sum(dim=1),
        Named.apply,
        lambda a: lib.var_mean(a, dim=0)[1],
        lambda a: a,
        lambda a: a.exp(),
        lambda a: a.mm(a.t()),
        lambda a: a.unbind(0)[1],
    )
    for make in makers:
        b = make(lib.arange(6.0).reshape(2, 3).requires_grad_())
        c = b * b
        with lib.no_grad():
            b += 1
        log.attempt(lambda c=c: c.sum().backward())


@scenario
def versions(lib, log):
    for a in (leaf(lib, 1.0), lib.zeros(2, dtype=lib.int32)):
        before = a._version
        lib.autograd.graph.increment_version(a)
        log(a._version - before)
    pair = [lib.ones(1), lib.ones(1)]
    lib.autograd.graph.increment_version(pair)
    log([one._version for one in pair])
    with lib.inference_mode():
        a = lib.ones(2)
        log.attempt(lambda: lib.autograd.graph.increment_version(a))
    log.attempt(lambda: lib.autograd.graph.increment_version(a))
    log.attempt(lambda: a._version)
    x = leaf(lib, 1.0, 2.0)
    with lib.no_grad():
        x[0] = 5.0
    log.facts(x)
    z = (x * x).sum()
    with lib.no_grad():
        x *= 2
    log.attempt(lambda: z.backward())
    y = x.clone()
    y.add_(1)
    with lib.autograd._unsafe_preserve_version_counter(y):
        y.mul_(2)
        y.mul_(3)
    log(y._version)
    pair = (x.clone(), x.clone())
    with lib.autograd._unsafe_preserve_version_counter(pair):
        pair[0].mul_(2)
        pair[1].mul_(2)
    log([one._version for one in pair])


@scenario
def buffers_are_not_shared(lib, log):
    x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    a, b, c = x + 2, y + 2, x + 2
    early = a + b + c
    for _ in range(4):
        a, b, c = a * 2, b * 2, c * 2
    seed = lib.ones(2)
    (early + (a + b + c)).backward(seed)
    log(x.grad, y.grad, seed)


@scenario
def pickles(lib, log):
    x, y = leaf(lib, 1.0, 2.0), lib.ones(2)
    for protocol in range(3):
        log([pickle.loads(pickle.dumps(one, protocol=protocol)) for one in (x, y)])
    log.attempt(lambda: pickle.loads(pickle.dumps(x * 2)))


@scenario
def replayed_views(lib, log):
    track = lib.autograd._force_original_view_tracking

    def written(x):
        out = x.clone().view(-1)
        out.add_(1)
        return type(out.grad_fn).__name__

    x = lib.ones(2, 2, requires_grad=True)
    log(written(x))
    for chosen in (False, True):
        with track(chosen):
            log(written(x), lib.autograd.is_view_replay_enabled())
    with track(False):
        track(True)
        log(written(x), lib.autograd.is_view_replay_enabled())
    log(lib.autograd.is_view_replay_enabled())
    made = track(True)
    log(lib.autograd.is_view_replay_enabled())
    with made:
        log(written(x))
    log(lib.autograd.is_view_replay_enabled())
    log(track(True)(written)(x), lib.autograd.is_view_replay_enabled())


@scenario
def names_of_saved_outputs(lib, log):
    a = lib.arange(6.0).reshape(2, 3).requires_grad_()
    _, s, _ = lib.linalg.svd(a * 1, full_matrices=False)
    values, places = lib.max(a * 1, 1)
    with lib.no_grad():
        s += 1
        places += 1
    log.attempt(lambda: s.sum().backward())
    log.attempt(lambda: values.sum().backward())


@scenario
def outputs_given_by_the_caller(lib, log):
    a, b = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    out = lib.zeros(2)
    log.attempt(lambda: lib.mul(a, b, out=out))
    with lib.no_grad():
        log.attempt(lambda: lib.mul(a, b, out=out))
    log.attempt(lambda: lib.mul(a.detach(), b.detach(), out=lib.zeros(2, requires_grad=True)))
    log.attempt(lambda: lib.exp(a.detach(), out=a.clone()))
    log.attempt(lambda: lib.cat([a, b], out=lib.zeros(4)))


@scenario
def counters_and_new_data(lib, log):
    x = lib.ones(1, 2)
    x.add_(1).add_(1)
    view = x[:]
    log(x._version, view._version)
    view.add_(1)
    log(x._version, view._version)
    x.data = lib.ones(2, 3)
    log(x._version, x)
    x.add_(1)
    view.add_(1)
    log(x._version, view._version, view)
    a, integers = lib.tensor(1.0, requires_grad=True), lib.tensor(3)
    same = a
    a.data = lib.tensor(2.0)
    log(a is same, a, a.requires_grad)
    log.attempt(lambda: setattr(a, "data", integers))
    y = a * a
    a.data = lib.tensor(5.0)
    y.backward()
    log(a.grad)


@scenario
def writes_to_views(lib, log):
    x = lib.zeros(1, requires_grad=True)
    log.attempt(lambda: x.view_as(x).add_(1))
    log.attempt(lambda: x.narrow(0, 0, 1).relu_())
    log.attempt(lambda: x.relu_())
    a = lib.arange(4.0, requires_grad=True)
    b = a.narrow(0, 0, 2).clone().view(-1)
    b.relu_()
    c = b.clone()
    del b
    gc.collect()
    c.sum().backward()
    log(a.grad)
    x = lib.ones(1, 3, 2, 2, requires_grad=True)
    shifted = (x + 1).view_as(x)
    shaped = lib.sigmoid(lib.nn.functional.threshold(shifted, 0.0, 0.0, True))
    (grad,) = lib.autograd.grad(shaped, x, lib.ones(1, 3, 2, 2), create_graph=True)
    total = grad.sum()
    total.backward()
    log(x.grad)
    log(total.grad_fn.next_functions[0][0].next_functions[1][0].name())


@scenario
def gradients_are_adopted_or_copied(lib, log):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            pointers.append(grad.data_ptr())
            return grad, grad

    class Expanded(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.size = a.size()
            return lib.tensor([1.0])

        @staticmethod
        def backward(ctx, grad):
            return lib.ones(1).expand(ctx.size)

    pointers = []
    a, b = lib.ones(2, 3, requires_grad=True), lib.ones(2, 3, requires_grad=True)
    Expanded.apply(Same.apply(a, b)).backward()
    log(a.grad.data_ptr() in pointers, b.grad.data_ptr() in pointers)
    log(a.grad.stride(), a.grad, b.grad)
    a.grad = b.grad = None
    Same.apply(a, b)[1][0].backward()
    log(a.grad.data_ptr() != b.grad.data_ptr(), a.grad, b.grad)


@scenario
def deep_reentrance(lib, log):
    class Deep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x >= 0:
                with lib.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return grad

    for depth in (150.0, 20.0):
        x = lib.tensor(depth, requires_grad=True)
        Deep.apply(x).sum().backward()
        log(x.grad)


@scenario
def zeros_of_powers(lib, log):
    for exponent in (lib.zeros(2), 0, 0.0, 2, lib.tensor(0.0)):
        x = lib.zeros(2, requires_grad=True)
        x.pow(exponent).sum().backward()
        log(x.grad)


@scenario
def cycles_around_graphs(lib, log):
    def build():
        x = lib.ones(4, requires_grad=True)
        middle = x.view(4, 1)
        out = middle.view(4)
        cycle = [middle]
        cycle.append(cycle)
        return x, out

    x, out = build()
    gc.collect()
    out.backward(lib.ones(4))
    log(x.grad)
