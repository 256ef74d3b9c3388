"""Anomaly mode, lifetimes and what is not implemented; scenarios for both libraries."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import sys
import warnings
import weakref

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


def failing(lib):
    class Boom(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("reached")

    return Boom.apply


@scenario
def writes_to_views_run_only_what_is_needed(lib, log):
    def first(x, y):
        out = x.clone().view(-1)
        out += y
        return out

    def second(x, y):
        out = x.clone().view(-1)
        doubled = out * 2
        out += y
        return out + doubled

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    for function in (first, second):
        for inputs in (lambda g: None, lambda g: y, lambda g: x, lambda g: g, lambda g: (x, g)):
            guarded = failing(lib)(y)
            out = function(x, guarded).sum()
            chosen = inputs(guarded)
            if chosen is None:
                log.attempt(lambda out=out: out.backward())
            else:
                log.attempt(lambda out=out, chosen=chosen: lib.autograd.grad(out, chosen))

    def third(x, y):
        out = x.clone().view(-1)
        out.register_hook(lambda *given: log("hook that must not run"))
        b = out + y
        out += y
        return out + b, b

    guarded = failing(lib)(y)
    out, b = third(x, guarded)
    log(lib.autograd.grad(out.sum(), (b, guarded)))


@scenario
def not_implemented(lib, log):
    a = leaf(lib, 1.5, 2.0)
    with lib.autograd.forward_ad.dual_level():
        dual = lib.autograd.forward_ad.make_dual(lib.ones(2), lib.ones(2))
        log.attempt(lambda: lib.igamma(dual, dual))
    log.attempt(lambda: lib.igamma(a, lib.ones(2)).sum().backward())
    log.attempt(lambda: lib.igamma(a, leaf(lib, 1.0, 2.0)).sum().backward())


@scenario
def attributes_exist(lib, log):
    x = lib.ones(2, 2)
    names = dir(x)
    log("shape" in names)
    log.attempt(lambda: hasattr(x, "imag"))
    log(hasattr(lib.ones(2, dtype=lib.complex64), "imag"))
    for name in names:
        if name != "imag":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not hasattr(x, name):
                    log(name)
    log(lib.autograd._calculate_shape(lib.ones(2, 3), lib.ones(3, 2), False))
    log(lib.autograd._calculate_shape(lib.ones(2, 3), lib.ones(3, 2), True))
    functions = importlib.import_module(f"{lib.__name__}.autograd._functions")
    resize = functions.Resize
    a = leaf(lib, 1.0, 2.0)
    log(lib.autograd.grad(resize.apply(a, (2, 1)).sum(), a))


@scenario
def order_with_missing_gradients(lib, log):
    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            w.main = grad * x
            return grad * w, None

    class Note(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            log("note")
            return grad

    x, w = leaf(lib, 1.0), leaf(lib, 2.0)
    w.register_hook(lambda g: log("hook", g))
    Product.apply(Note.apply(x), w).sum().backward()
    log(x.grad, w.grad, w.main)


@scenario
def instances_of_functions(lib, log):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    made = Same()
    log(isinstance(made, Same))
    x = leaf(lib, 1.0)
    log.attempt(lambda: made(x))
    log(Same.apply(x).grad_fn.name())


def nan_of(lib, second):
    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a.sum(0, keepdim=True)

        @staticmethod
        def backward(ctx, grad):
            wrong = grad.clone().expand(3) * float("nan")
            return (None, wrong) if second else (wrong, None)

    return Two


@scenario
def anomalies(lib, log):
    x = leaf(lib, 1.0, 2.0, 3.0)
    detect = lib.autograd.detect_anomaly
    out = nan_of(lib, False).apply(x, x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        def run():
            with detect():
                out.backward()

        log.attempt(run)
        log([str(w.message)[:60] for w in caught])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        def run():
            with detect():
                nan_of(lib, True).apply(x, x).backward()

        log.attempt(run)
        log(len(caught), [("apply(x, x)" in str(w.message)) for w in caught])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with detect(check_nan=False):
            out = nan_of(lib, False).apply(x, x)
            log.attempt(lambda: out.backward(retain_graph=True))
            with detect(check_nan=True):
                log.attempt(lambda: out.backward(retain_graph=True))
            log.attempt(lambda: out.backward())


@scenario
def nested_anomalies(lib, log):
    class Inner(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    class Outer(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a.sum(0, keepdim=True)

        @staticmethod
        def backward(ctx, grad):
            return Inner.apply(grad * ctx.saved_tensors[0])

    x = leaf(lib, 1.0, 2.0)
    context = lib.autograd.detect_anomaly
    for inside in (False, True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with context() if inside else contextlib.nullcontext():
                (first,) = lib.autograd.grad(Outer.apply(x), x, create_graph=True)
            total = first.sum()

            def run(total=total):
                with context():
                    total.backward()

            log.attempt(run)
            log(len(caught))
            for one in caught:
                text = str(one.message)
                log(text[:50], "Inner.apply" in text, "Outer.apply" in text)


@scenario
def warnings_of_anomalies_as_errors(lib, log):
    def run():
        a = leaf(lib, 1.0, 2.0)
        first = a + 1
        second = first**2
        first += 1
        lib.autograd.grad(second.sum(), a)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        def plain():
            with lib.autograd.detect_anomaly():
                run()

        log.attempt(plain)
        log([str(one.message)[:40] for one in caught])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stderr, sys.stderr = sys.stderr, io.StringIO()
        try:

            def strict():
                with lib.autograd.detect_anomaly():
                    warnings.simplefilter("error")
                    run()

            log.attempt(strict)
            log("Error detected in PowBackward0" in sys.stderr.getvalue())
        finally:
            sys.stderr = stderr
        log(len(caught))


@scenario
def anomaly_keeps_nothing_alive(lib, log):
    class Held:
        pass

    def build():
        x = leaf(lib, 1.0, 2.0)
        t = x.exp()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with lib.autograd.detect_anomaly():
                lib.autograd.grad(t, x, lib.ones_like(t), create_graph=True)
        held = Held()
        t.grad_fn.metadata[0] = held
        return t, weakref.ref(held)

    t, held = build()
    log(held() is not None)
    del t
    log(held() is None)


@scenario
def checkpoints_let_go(lib, log):
    refs = []

    class Keep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.save_for_backward(y)
            refs.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx, *grads):
            log(ctx.saved_tensors)

    x = lib.ones(2, requires_grad=True)
    out = lib.utils.checkpoint.checkpoint(Keep.apply, x, use_reentrant=False)
    out.sum().backward()
    del out
    log([ref() is None for ref in refs])


@scenario
def reductions_of_several_dimensions(lib, log):
    given = (lib.arange(48.0) % 7).reshape(2, 3, 2, 4)
    x, y = given.clone().requires_grad_(), given.clone().requires_grad_()
    var, mean = lib.var_mean(x, dim=[1, 3])
    weight = lib.arange(4.0).reshape(2, 2)
    lib.autograd.backward(var * var * mean, weight)
    second = y.var(dim=[1, 3]) ** 2 * y.mean(dim=[1, 3])
    lib.autograd.backward(second, weight)
    log(var, mean, x.grad, y.grad)
    a = lib.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    sign, logdet = a.slogdet()
    log(sign.requires_grad, logdet.requires_grad, lib.autograd.grad(sign * logdet, a))


@scenario
def a_dimension_that_is_none(lib, log):
    x = lib.ones(2, 2, requires_grad=True)
    for out in (x.sum(), x.sum(None), lib.sum(x, dim=None), x.sum(dtype=lib.float64)):
        log(out, type(out.grad_fn).__name__)
    for out in (x.mean(), x.mean(None), lib.mean(x, dim=None), x.mean(dim=None, keepdim=True)):
        log(out, type(out.grad_fn).__name__)


@scenario
def events(lib, log):
    util = importlib.import_module(f"{lib.__name__}.autograd.profiler_util")
    events = util.EventList()
    number = 0
    for thread, ranges in ((1, ((0, 1), (1, 2))), (0, ((0, 2), (1, 2), (1, 3)))):
        for start, end in ranges:
            number += 1
            events.append(
                util.FunctionEvent(
                    id=number, node_id=0, name="", thread=thread, start_us=start, end_us=end
                )
            )
    events._populate_cpu_children()
    log([[child.id for child in event.cpu_children] for event in events])
    average = util.FunctionEventAvg()
    for k, (a, b) in enumerate(((10, 15), (20, 30))):
        average.add(util.FunctionEvent(id=k, node_id=0, name="foo", thread=0, start_us=a, end_us=b))
    average.add(average)
    log(
        average.key,
        average.count,
        average.cpu_time_total,
        average.self_cpu_time_total,
        average.device_time_total,
        average.cpu_time,
    )
    log([util._format_time(one) for one in (12.0, 1234.5, 3e6)])
    x = lib.ones(3, 3)
    with lib.autograd.profiler.profile(use_kineto=lib.autograd.kineto_available()) as p:
        log(lib.autograd._profiler_enabled())
        with lib.autograd.profiler.record_function("outer"):
            y = x * 2 + 4
            with lib.autograd.profiler.record_function("inner"):
                y = y - 1
    log(lib.autograd._profiler_enabled(), str(p) == p.table())
    wanted = ("outer", "inner", "aten::mul", "aten::add", "aten::sub")
    log([event.name for event in p.function_events if event.name in wanted])

    @lib.autograd.profiler.record_function("named")
    def f(a, b):
        return a + b

    with lib.autograd.profiler.profile() as p:
        f(1, 2)
    log("named" in str(p))
    outer = lib.autograd.profiler.record_function("outer")
    outer.__enter__()
    with lib.autograd.profiler.record_function("inner"):
        outer.__exit__(None, None, None)
    with lib.autograd.profiler.profile() as p:
        a = lib.ones(2, 2, requires_grad=True)
        b = lib.ones(2, 2, requires_grad=True)
        (a + b).sum(dim=None).backward()
    first = {}
    for event in p.function_events:
        if "Add" in event.name or "Sum" in event.name or event.name in ("aten::add", "aten::sum"):
            first.setdefault(event.sequence_nr if event.sequence_nr >= 0 else -1, []).append(
                event.name
            )
    log([sorted(names) for _, names in sorted(first.items())])


# ------------------------------------------- misuse that makes PyTorch itself crash now and then


def test_saved_hooks_left_during_backward():
    hooks = retrograd.autograd.graph.saved_tensors_hooks

    def unpack(x):
        outer.__exit__()
        return x

    outer = hooks(lambda x: x, unpack)
    for _ in range(3):
        with hooks(lambda x: x, lambda x: x):
            outer.__enter__()
            leaf(retrograd, 1.0, 2.0).sin().sum().backward()
    for _ in range(3):
        outer.__exit__()
    saved = retrograd.tensor(1.0, requires_grad=True).exp().grad_fn._raw_saved_result
    saved.register_hooks(lambda x: x, lambda x: x)  # refused if hooks were still in force


def test_saved_hooks_entered_during_backward():
    def scope():
        def unpack(x):
            weak().__enter__()
            return x

        made = retrograd.autograd.graph.saved_tensors_hooks(lambda x: x, unpack)
        weak = weakref.ref(made)
        with made:
            leaf(retrograd, 1.0, 2.0).sin().sum().backward()
        return weakref.ref(unpack)

    gone = scope()
    gc.collect()
    assert gone() is None
