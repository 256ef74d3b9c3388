"""Hooks of tensors and nodes: each scenario runs with PyTorch and with retrograd."""

# ruff: noqa: B023  (every function is called before its loop goes on)

from __future__ import annotations

import functools
import threading
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


class Unnamed:
    def __init__(self, result):
        self.result = result

    def __call__(self, *given):
        return self.result


# ----------------------------------------------------------------------- what hooks may return


def _register(lib, kind, hook):
    x = leaf(lib, 1.0, 2.0)
    y = x * x
    accumulator = y.grad_fn.next_functions[0][0]
    table = {
        "tensor": y.register_hook,
        "leaf": x.register_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
        "accumulator": accumulator.register_hook,
        "accumulator pre": accumulator.register_prehook,
        "after": x.register_post_accumulate_grad_hook,
    }
    table[kind](hook)
    y.sum().backward()
    return x.grad


@scenario
def returned_values(lib, log):
    def named(*given):
        return lib.ones(3)

    results = [
        *(3, True, lib.ones(3), lib.ones(2), lib.ones(2).double(), lib.ones(3).double()),
        *((lib.ones(2),), (lib.ones(2),) * 2, [lib.ones(2)], (None,), (None, None), (3,), ()),
        *((lib.ones(3),), lib.ones(2, requires_grad=True), lib.ones(2) * 1j),
    ]
    for kind in ("tensor", "leaf", "pre", "post", "accumulator", "accumulator pre", "after"):
        log(kind)
        for result in results:
            log.attempt(lambda: _register(lib, kind, lambda *given: result))
        for hook in (named, Unnamed(lib.ones(3)), functools.partial(named)):
            log.attempt(lambda: _register(lib, kind, hook))


@scenario
def returning_the_argument(lib, log):
    log.attempt(lambda: _register(lib, "after", lambda p: p))
    log.attempt(lambda: _register(lib, "after", lambda p: p.mul_(2)))
    log.attempt(lambda: _register(lib, "tensor", lambda g: g))
    log.attempt(lambda: _register(lib, "post", lambda ins, outs: ins))


@scenario
def a_gradient_that_is_none(lib, log):
    x = leaf(lib, [1.0, 2.0], [3.0, 4.0])
    values, mean = lib.var_mean(x, dim=0)
    seen = []
    values.register_hook(lambda g: seen.append(("values", g is None)))
    mean.register_hook(lambda g: seen.append(("mean", g is None)))
    mean.grad_fn.register_prehook(lambda gs: seen.append([g is None for g in gs]))
    values.sum().backward()
    log(seen, x.grad)

    def invent(g):
        return lib.ones(2) if g is None else None

    values, mean = lib.var_mean(x, dim=0)
    mean.register_hook(invent)
    log.attempt(lambda: values.sum().backward())
    values, mean = lib.var_mean(x, dim=0)
    mean.grad_fn.register_prehook(lambda gs: (gs[0], lib.ones(2)))
    log.attempt(lambda: values.sum().backward())


@scenario
def registration_errors(lib, log):
    x = leaf(lib, 1.0)
    log.attempt(lambda: lib.ones(1).register_hook(lambda g: g))
    log.attempt(lambda: lib.ones(1).register_post_accumulate_grad_hook(lambda g: g))
    log.attempt(lambda: (x * 2).register_post_accumulate_grad_hook(lambda g: g))
    log.attempt(lambda: lib.ones(1).retain_grad())
    log.attempt(lambda: x.retain_grad())
    log(x.retains_grad)


@scenario
def hooks_that_raise(lib, log):
    def fail(*given):
        raise ValueError("from the hook")

    for kind in ("tensor", "leaf", "pre", "post", "accumulator", "accumulator pre", "after"):
        log.attempt(lambda: _register(lib, kind, fail))
    x = leaf(lib, 1.0)
    y = x * x
    handle = y.register_hook(fail)
    log.attempt(lambda: y.backward(retain_graph=True))
    log(x.grad, lib.is_grad_enabled())
    handle.remove()
    y.backward()
    log(x.grad)


# --------------------------------------------------------------------------------------- order


@scenario
def order_on_one_node(lib, log):
    x = leaf(lib, 2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda i, o: log("post", i, o))
    y.grad_fn.register_prehook(lambda g: log("pre", g))
    y.retain_grad()
    y.register_hook(lambda g: (log("first", g, y.grad), g * 2)[1])
    y.register_hook(lambda g: (log("second", g, y.grad), g * 2)[1])
    x.register_post_accumulate_grad_hook(lambda p: log("after", p.grad))
    x.register_hook(lambda g: (log("leaf", g), g + 1)[1])
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda i, o: log("accumulator post", i, o, x.grad))
    accumulator.register_prehook(lambda g: (log("accumulator pre", g), (g[0] * 10,))[1])
    (y * y).backward()
    log(x.grad, y.grad)


@scenario
def order_of_several_outputs(lib, log):
    x = leaf(lib, [1.0, 2.0], [3.0, 4.0])
    a, b = x.unbind()
    b.register_hook(lambda g: log("b1", g))
    a.register_hook(lambda g: log("a1", g))
    b.register_hook(lambda g: log("b2", g))
    a.retain_grad()
    b.retain_grad()
    (a * b).sum().backward()
    log(a.grad, b.grad, x.grad)


@scenario
def hooks_see_fitted_gradients(lib, log):
    x, row = leaf(lib, 1.0, 2.0, 3.0), leaf(lib, 2.0)
    single = lib.tensor([[1.0, 2.0, 3.0]], dtype=lib.float64, requires_grad=True)
    for y in (x * row, x + row, row / x, x * single, lib.where(x > 1, row, single)):
        y.grad_fn.register_hook(lambda i, o: log(i, o))
        y.sum().backward(retain_graph=True)
        lib.autograd.grad(y.sum(), [x, row, single], create_graph=True, allow_unused=True)
        for leaf_ in (x, row, single):
            log(leaf_.grad)
            leaf_.grad = None


@scenario
def grad_mode_in_hooks(lib, log):
    for create in (False, True):
        x = leaf(lib, 2.0)
        y = x * x
        log(create)
        y.register_hook(lambda g: log("tensor", lib.is_grad_enabled()))
        y.grad_fn.register_prehook(lambda g: log("pre", lib.is_grad_enabled()))
        y.grad_fn.register_hook(lambda i, o: log("post", lib.is_grad_enabled()))
        x.register_hook(lambda g: log("leaf", lib.is_grad_enabled(), g.requires_grad))
        x.register_post_accumulate_grad_hook(
            lambda p: log("after", lib.is_grad_enabled(), p.grad.requires_grad)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the cycle that create_graph makes
            y.backward(create_graph=create)
        x.grad = None


@scenario
def captures(lib, log):
    for wanted in ("y", "x", "xy"):
        x = leaf(lib, 1.0)
        y = x * 2
        z = y * 3
        x.register_hook(lambda g: (log("x", g), g * 5)[1])
        y.register_hook(lambda g: (log("y", g), g * 7)[1])
        y.grad_fn.register_prehook(lambda g: (log("pre", g), (g[0] * 11,))[1])
        y.grad_fn.register_hook(lambda i, o: log("post", i, o))
        y.grad_fn.next_functions[0][0].register_prehook(lambda g: log("never"))
        x.register_post_accumulate_grad_hook(lambda p: log("never"))
        y.retain_grad()
        inputs = {"y": [y], "x": [x], "xy": [x, y]}[wanted]
        log(lib.autograd.grad(z, inputs, retain_graph=True), y.grad, x.grad)
        z.backward(inputs=inputs)
        log(y.grad, x.grad)


@scenario
def gradients_that_hooks_keep(lib, log):
    kept = []

    def double(g):
        kept.append(g * 2)
        return kept[-1]

    x = leaf(lib, 1.0, 2.0)
    y = x * 3
    accumulator = y.grad_fn.next_functions[0][0]
    for register, hook in (
        (x.register_hook, double),
        (x.register_hook, kept.append),
        (y.register_hook, double),
        (y.register_hook, kept.append),
        (accumulator.register_prehook, lambda gs: (double(gs[0]),)),
        (accumulator.register_prehook, lambda gs: kept.append(gs[0])),
        (y.grad_fn.register_hook, lambda i, o: (double(i[0]), None)),
    ):
        x.grad = None
        kept.clear()
        with register(hook):
            y.sum().backward(retain_graph=True)
            y.sum().backward(retain_graph=True)
        log(kept, x.grad)
        x.grad.zero_()
        log(kept)


@scenario
def hooks_after_accumulation_see_one_gradient(lib, log):
    x = leaf(lib, 1.0, 2.0)
    accumulator = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    accumulator.register_prehook(lambda gs: (gs[0] / 5,))
    x.register_post_accumulate_grad_hook(lambda p: (p.grad.add_(0.5), None)[1])
    accumulator.register_hook(lambda i, o: setattr(x, "grad", o[0] * 10))
    x.sum().backward()
    log(x.grad)


# ------------------------------------------------------------------------------------- removal


@scenario
def removal(lib, log):
    x = leaf(lib, 1.0)
    y = x * 2
    first = y.register_hook(lambda g: (log("first"), second.remove(), third.remove())[0])
    second = y.register_hook(lambda g: log("second"))
    third = y.register_hook(lambda g: log("third"))
    third.remove()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    first.remove()
    first.remove()
    y.backward(retain_graph=True)
    with y.register_hook(lambda g: log("inside")) as handle:
        y.backward(retain_graph=True)
        log(handle.id in y._backward_hooks, len(y._backward_hooks))
    y.backward()
    log(len(y._backward_hooks), x.grad)


@scenario
def removal_of_node_hooks_while_running(lib, log):
    x = leaf(lib, 1.0)
    y = x * 2
    node = y.grad_fn
    node.register_prehook(lambda g: (log("one"), handle.remove())[0])
    handle = node.register_prehook(lambda g: log("two"))
    node.register_hook(lambda i, o: (log("three"), last.remove())[0])
    last = node.register_hook(lambda i, o: log("four"))
    y.backward(retain_graph=True)
    y.backward()


@scenario
def registration_while_running(lib, log):
    x = leaf(lib, 1.0)
    y = x * 2

    def add(g):
        log("first")
        y.register_hook(lambda g: log("second"))
        x.register_hook(lambda g: log("leaf"))

    y.register_hook(add)
    y.backward(retain_graph=True)
    y.backward()


@scenario
def handles(lib, log):
    from collections import OrderedDict

    handle_class = lib.utils.hooks.RemovableHandle
    table, extra, more = OrderedDict(), OrderedDict(), OrderedDict()
    first = handle_class(table)
    second = handle_class(table, extra_dict=extra)
    third = handle_class(table, extra_dict=[extra, more])
    log(second.id - first.id, third.id - second.id, handle_class.next_id - third.id)
    for handle in (first, second, third):
        table[handle.id] = extra[handle.id] = more[handle.id] = "hook"
        handle.remove()
        log(len(table), len(extra), len(more))
    log(first.hooks_dict_ref() is table, len(third.extra_dict_ref))
    state = third.__getstate__()
    log(len(state), state[0] is table, state[1] == third.id, len(state[2]))
    again = handle_class.__new__(handle_class)
    again.__setstate__((table, third.id + 50, (extra,)))
    log(handle_class(table).id - third.id, again.id - third.id)
    again.__setstate__((None, 3))
    again.remove()


@scenario
def hook_tables(lib, log):
    from collections import OrderedDict

    x = leaf(lib, 1.0, 2.0)
    log(x._backward_hooks, x._post_accumulate_grad_hooks, (x * 2)._backward_hooks)
    handle = x.register_hook(lambda g: log("hook"))
    log(type(x._backward_hooks).__name__, list(x._backward_hooks) == [handle.id])
    y = x * 1
    y.register_hook(lambda g: log("y"))
    y.mul_(2)
    log(y._backward_hooks)
    y._backward_hooks = OrderedDict({0: lambda g: log("not reached")})
    y.sum().backward()
    x._backward_hooks = OrderedDict({0: lambda g: log("another table")})
    x.sum().backward()
    x._backward_hooks = None
    x.sum().backward()
    x.register_post_accumulate_grad_hook(lambda p: None)
    log(len(x._post_accumulate_grad_hooks), x.grad)


# ------------------------------------------------------------------------- in-place and views


@scenario
def in_place_keeps_hooks_with_their_history(lib, log):
    x = leaf(lib, 1.0)
    b = x.clone()
    b.register_hook(lambda g: (log("before", g), g * 2)[1])
    b.retain_grad()
    b.mul_(2)
    b.register_hook(lambda g: (log("after", g), g * 3)[1])
    b.mul_(5)
    b.sum().backward()
    log(x.grad, b.grad, b.retains_grad)


@scenario
def in_place_with_several_outputs(lib, log):
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    values, mean = lib.var_mean(x, dim=0)
    values.retain_grad()
    mean.retain_grad()
    values.register_hook(lambda g: log("old", g))
    mean.register_hook(lambda g: log("mean", g))
    values.mul_(2)
    values.register_hook(lambda g: log("new", g))
    (values + mean * 3).sum().backward()
    log(values.grad, mean.grad, x.grad)


@scenario
def views_and_their_bases(lib, log):
    base = leaf(lib, 1.0, 2.0).clone()
    view, other = base[:], base[:1]
    view.register_hook(lambda g: log("view, old", g))
    other.register_hook(lambda g: log("other, old", g))
    base.register_hook(lambda g: log("base, old", g))
    view.retain_grad()
    other.retain_grad()
    base.retain_grad()
    view.mul_(2)
    log(type(other.grad_fn).__name__, view._backward_hooks, base._backward_hooks)
    other.register_hook(lambda g: log("other, new", g))
    view.register_hook(lambda g: log("view, new", g))
    base.register_hook(lambda g: log("base, new", g))
    (view.sum() + other.sum()).backward()
    log(view.grad, other.grad, base.grad)


@scenario
def a_leaf_that_was_detached(lib, log):
    x = leaf(lib, 1.0)
    y = x * 3
    x.register_hook(lambda g: log("x", g))
    x.register_post_accumulate_grad_hook(lambda p: log("after", p.grad))
    x.detach_()
    y.backward()
    log(x.grad, x.requires_grad)
    z = leaf(lib, 1.0) * 2
    z.register_hook(lambda g: log("z"))
    z.retain_grad()
    w = z * 1
    z.detach_()
    log(z._backward_hooks, z.retains_grad, z.grad_fn)
    w.backward(retain_graph=True)
    z.requires_grad_()
    z.register_hook(lambda g: log("z, new", g))
    (z * 5).backward()
    w.backward()
    log(z.grad)


@scenario
def accumulator_hooks_live_with_the_graph(lib, log):
    x = leaf(lib, 1.0)
    y = x * 3
    y.grad_fn.next_functions[0][0].register_hook(lambda i, o: log("hook", i, o))
    y.backward()
    z = x * 5
    z.backward()
    del y, z
    (x * 7).backward()
    log(x.grad)
    x.expand(1).grad_fn.next_functions[0][0].register_hook(lambda i, o: log("gone"))
    (x * 7).backward()


# ---------------------------------------------------------------------- several at once, threads


@scenario
def multi_grad_all(lib, log):
    register = lib.autograd.graph.register_multi_grad_hook
    a, b, c = leaf(lib, 1.0), leaf(lib, 2.0), leaf(lib, 3.0)
    d, e = a * b, b * c
    handle = register((a, b, c, d, e), lambda gs: log("all", gs))
    (d + e).backward(retain_graph=True)
    (d * 1).backward(retain_graph=True)
    (d + e).backward(inputs=[a], retain_graph=True)
    (d + e).backward(inputs=[d], retain_graph=True)
    lib.autograd.grad(d + e, [d], retain_graph=True)
    log.attempt(lambda: lib.autograd.grad(d + e, [a, d], retain_graph=True))
    lib.autograd.grad(d * 2, [e], allow_unused=True, retain_graph=True)
    handle.remove()
    (d + e).backward()
    log.attempt(lambda: register((a, d.detach()), log))
    log.attempt(lambda: register((a,), log, mode="none"))
    log(handle.handles == (), type(handle).__name__)


@scenario
def multi_grad_any(lib, log):
    register = lib.autograd.graph.register_multi_grad_hook
    a, b = leaf(lib, 1.0), leaf(lib, 2.0)
    c, d = a * b, b * 3
    handle = register((a, b, c, d, d.detach()), lambda g: log("any", g), mode="any")
    (c + d).backward(retain_graph=True)
    d.backward(retain_graph=True)
    lib.autograd.grad(c, [a], retain_graph=True)
    handle.remove()
    (c + d).backward()


@scenario
def multi_grad_inside_backward(lib, log):
    register = lib.autograd.graph.register_multi_grad_hook
    a, b = leaf(lib, 1.0), leaf(lib, 2.0)
    inner = a * b
    outer = a * 3 + b * 5
    register((a, b), lambda gs: log("all", gs))
    register((a, b), lambda g: log("any", g), mode="any")
    started = []

    def nested(g):
        if not started:
            started.append(1)
            inner.backward()

    outer.register_hook(nested)
    outer.backward()
    log(a.grad, b.grad)


@scenario
def multi_grad_after_a_failure(lib, log):
    a, b = leaf(lib, 1.0), leaf(lib, 2.0)
    c = a * 2
    d = b * 3
    lib.autograd.graph.register_multi_grad_hook((c, d), lambda gs: log("all", gs))
    broken = [True]

    def fail(g):
        if broken:
            raise ValueError("broken")

    c.register_hook(fail)
    log.attempt(lambda: (c + d).backward(retain_graph=True))
    broken.clear()
    (c + d).backward()


@scenario
def multi_grad_in_threads(lib, log):
    x = leaf(lib, 1.0)
    products = [x * k for k in range(1, 5)]
    outputs = [product * 1 for product in products]
    seen = []
    lock = threading.Lock()

    def note(gs):
        with lock:
            seen.append([g is not None for g in gs])

    lib.autograd.graph.register_multi_grad_hook((x, *products), note)
    threads = [threading.Thread(target=out.backward) for out in outputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log(sorted(seen), x.grad)


# -------------------------------------------------------------------------------- pickles


@scenario
def pickling_with_hooks(lib, log):
    import io
    import pickle

    x = leaf(lib, 1.0)
    x.register_hook(_module_level_hook)
    log(pickle.loads(pickle.dumps(x)))
    y = leaf(lib, 1.0)
    y.register_hook(lib.utils.hooks.unserializable_hook(_another_hook))
    pickle.dumps(y)
    buffer = io.BytesIO()
    lib.save(y, buffer)


def _module_level_hook(g):
    return g


def _another_hook(g):
    return g
