"""`backward` and `grad`: targets, edges, what is refused; scenarios for both libraries."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict

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
def accumulation_and_references(lib, log):
    for again in (False, True):
        x = leaf(lib, 1.0, 2.0)
        y = x + 2
        y.backward(lib.ones(2), retain_graph=True)
        held, copied = x.grad, x.grad.clone()
        lib.autograd.backward(y, lib.ones(2, requires_grad=again), create_graph=False)
        log(held, copied, held is x.grad)
        x = leaf(lib, 1.5, 1.5)
        x.grad = lib.tensor([1.5, 1.5])
        held = x.grad
        x.backward(lib.tensor([2.0, 3.0]))
        log(held is x.grad, x.grad)
    a, b = lib.ones(4, 0, requires_grad=True), lib.ones(4, 1, requires_grad=True)
    (a + b).sum().backward()
    log(a.grad, b.grad)


@scenario
def second_order(lib, log):
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, -1.0)
    z = x**2 + y * x + y**2
    gx, gy = lib.autograd.grad(z.sum(), (x, y), create_graph=True)
    total = 2 * gx + gy
    log(lib.autograd.grad([total], [x], [lib.ones(2)], create_graph=True))
    log.attempt(lambda: lib.autograd.grad([total], [x], [lib.ones(3)], create_graph=True))
    log.attempt(lambda: lib.autograd.grad([total], [x], lib.ones(2, dtype=lib.complex64)))
    total.backward(lib.ones(2))
    log(x.grad, y.grad)
    start = point = leaf(lib, 0.5, 0.25)
    for _ in range(4):
        value = point**2 + y * point
        (slope,) = lib.autograd.grad(value, point, lib.ones(2), create_graph=True)
        point = point + 0.05 * slope
    point.sum().backward()
    log(point, start.grad, y.grad)


@scenario
def edges_as_inputs(lib, log):
    edge_of = lib.autograd.graph.get_gradient_edge

    def compare(out, given):
        log(lib.autograd.grad(out.sum(), given, retain_graph=True))
        log(lib.autograd.grad(out.sum(), edge_of(given), retain_graph=True))

    x = leaf(lib, 1.0, 2.0)
    compare(x.clone(), x)
    middle = x.clone()
    compare(middle.exp(), middle)
    mean = lib.var_mean(middle * 3)[1]
    compare(mean * mean, mean)
    edge = edge_of(mean)
    log(type(edge).__name__, type(edge.node).__name__, edge.output_nr, len(edge))
    for wrong in (lib.ones(1), 3, lib.ones(1).exp()):
        log.attempt(lambda wrong=wrong: edge_of(wrong))
    x = leaf(lib, 1.0, 2.0).clone()
    old = edge_of(x)
    x *= 2
    log(lib.autograd.grad(x.sum(), (old, x)))


@scenario
def edges_after_set(lib, log):
    x = leaf(lib, 1.0, 2.0)
    edge = lib.autograd.graph.get_gradient_edge(x)
    out = x.clone()
    with lib.no_grad():
        x.set_(lib.tensor([5.0, 6.0]))
    log(x, x._version)
    log.attempt(lambda: lib.autograd.grad(out.sum(), x))
    log.attempt(lambda: lib.autograd.grad(out.sum(), edge))


@scenario
def edges_that_are_not_reached(lib, log):
    edge_class = lib.autograd.graph.GradientEdge
    x, y = leaf(lib, 1.0, 2.0).clone(), leaf(lib, 3.0, 4.0).clone()
    edge_x, edge_y = (edge_class(t.grad_fn, t.output_nr) for t in (x, y))
    out = x.clone()
    grad = lib.autograd.grad
    options = {"allow_unused": True, "retain_graph": True}
    log.attempt(lambda: grad((x + y).sum(), (edge_x, edge_y), retain_graph=True))
    log.attempt(lambda: grad(out.sum(), (edge_x, y), materialize_grads=True, **options))
    log.attempt(lambda: grad(out.sum(), (x, edge_y), **options))
    log.attempt(lambda: grad(out.sum(), (x, edge_y), materialize_grads=True, **options))
    for inputs in ((edge_x, y), (x, y), (x, edge_y), (edge_x, edge_y), edge_x):
        log.attempt(lambda inputs=inputs: lib.autograd.backward(out.sum(), inputs=inputs))
    log(x.retains_grad)


@scenario
def edges_as_outputs(lib, log):
    x = leaf(lib, 1.0, 2.0)

    def build(reduce):
        middle = x.sin().cos()
        middle = middle.sum() if reduce else middle
        return middle.exp().sin().sum(), lib.autograd.graph.get_gradient_edge(middle)

    out, edge = build(True)
    (first,) = lib.autograd.grad(out, (edge,))
    log(first, lib.autograd.grad(edge, (x,), grad_outputs=(first,)))
    log(lib.autograd.grad(build(True)[0], x))
    out, edge = build(False)
    log.attempt(lambda: lib.autograd.grad(edge, (x,)))
    out, edge = build(True)
    log.attempt(lambda: lib.autograd.grad(edge, x, lib.ones(4)))
    log.attempt(lambda: lib.autograd.grad(edge, x, lib.ones((), dtype=lib.complex64)))
    log.attempt(lambda: lib.autograd.backward(edge, lib.ones(4), inputs=(x,)))
    log.attempt(lambda: lib.autograd.backward(edge, retain_graph=True))
    log.attempt(lambda: lib.autograd.backward((edge, out), retain_graph=True))
    log(x.grad, lib.autograd.grad((edge, out), x))


@scenario
def edges_own_the_graph(lib, log):
    class Clone(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.clone()

    x = leaf(lib, 2.0)
    given = x.clone()
    for make in (lambda: given.clone(), lambda: Clone.apply(given)):
        out = make()
        edge = lib.autograd.graph.get_gradient_edge(out)
        gone = weakref.ref(out)
        lib.autograd.backward(edge)
        del out
        gc.collect()
        log(gone() is None)
        lib.autograd.backward(edge)
        log(x.grad)


@scenario
def metadata_of_inputs(lib, log):
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    var, _ = lib.var_mean(lib.ones(3, 4, requires_grad=True, dtype=lib.float64), dim=0)
    same = mixed(lib).apply(x)
    for node in ((x * y).grad_fn, var.grad_fn, same.grad_fn, x.sum().grad_fn):
        found = node._input_metadata
        log(type(found).__name__)
        for one in found:
            log(list(one.shape), str(one.dtype), str(one.device), one.is_nested_tensor)


def mixed(lib):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Same


@scenario
def inner_targets_and_hooks(lib, log):
    x = lib.arange(8.0).reshape(4, 2).requires_grad_()
    a, b = x.chunk(2)
    x.register_hook(lambda g: log("not called", g))
    go = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    log(lib.autograd.grad(a + 2 * b, [a, b], go, create_graph=True), x.grad)
    x = leaf(lib, 1.0, 2.0, 3.0)
    parts = x.unbind()
    parts[0].register_hook(lambda g: log("first part", g))
    for part in parts:
        part.backward()
        log(x.grad, part.is_leaf)


@scenario
def gradients_made_of_nothing(lib, log):
    x, a = lib.tensor(0.5, requires_grad=True), lib.tensor(1.0, requires_grad=True)
    grad = lib.autograd.grad
    (first,) = grad(x * a, x, create_graph=True)
    log(grad(first, x, create_graph=True, allow_unused=True))
    (second,) = grad(first, x, create_graph=True, allow_unused=True, materialize_grads=True)
    log(second, second.requires_grad, grad(second, x, materialize_grads=True))
    log.attempt(lambda: grad(x * a, x, allow_unused=False, materialize_grads=True))
    log(grad((x**2).sum(), (x, a), allow_unused=True, materialize_grads=True))


@scenario
def refused_calls(lib, log):
    x = lib.ones(1)
    log.attempt(lambda: x.backward())
    log.attempt(lambda: lib.autograd.grad(x, x**2))
    log.attempt(lambda: lib.autograd.grad(x**2, x))
    x = leaf(lib, 1.0)
    y = x**2
    log.attempt(lambda: lib.autograd.grad(2 * x, [], grad_outputs=lib.ones(1)))
    log.attempt(lambda: y.grad_fn(x.detach(), x.detach()))
    log.attempt(lambda: y.grad_fn())
    log.attempt(lambda: y.grad_fn(x.detach()))
    log.attempt(lambda: lib.autograd.backward([y, lib.ones(1)], [lib.ones(1)] * 2))
    log.attempt(lambda: lib.autograd.backward(y, lib.ones(1), inputs=[]))
    log.attempt(lambda: lib.autograd.backward([y, y], [lib.ones(1)]))
    log.attempt(lambda: lib.autograd.backward(y, "text"))
    log.attempt(lambda: lib.autograd.grad(y, "text"))
    log.attempt(lambda: lib.autograd.grad(y, [None]))
    log.attempt(lambda: lib.autograd.grad([y, None], x))
    log.attempt(lambda: lib.autograd.grad(None, x))
    log.attempt(lambda: lib.autograd.backward(lib.cat([y, y])))
    log.attempt(
        lambda: lib.autograd.backward(y, grad_tensors=lib.ones(1), grad_variables=lib.ones(1))
    )
    log.attempt(lambda: lib.autograd.backward(y, grad_variables=lib.ones(1), retain_graph=True))
    log.attempt(lambda: lib.autograd.backward(tensors=y, grad_tensors=[None], retain_graph=True))
    log.attempt(lambda: y.backward(None, True, False))
    log.attempt(lambda: y.backward(lib.ones(1, dtype=lib.float64)))
    log.attempt(lambda: lib.autograd.grad(y.sum(), x, only_inputs=False))
    log(x.grad)


@scenario
def unreachable(lib, log):
    class Never(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            raise AssertionError("must not run")

    x, y = leaf(lib, 1.0), leaf(lib, 2.0)
    used = y * 2
    log(lib.autograd.grad(x * 2, [x, y], allow_unused=True), used)
    log(lib.autograd.grad(x * 2, [x, leaf(lib, 1.0)], allow_unused=True))
    log.attempt(lambda: lib.autograd.grad(x * 2, [x, y], allow_unused=False))
    log.attempt(lambda: lib.autograd.grad(x * 2, [x, y]))
    for build in (lambda: Never.apply(leaf(lib, 1.0) * 2),):
        log(lib.autograd.grad(build(), (y,), allow_unused=True))
        z = leaf(lib, 5.0)
        log(lib.autograd.grad(build() + z, (y, z), allow_unused=True))
        lib.autograd.backward(build(), inputs=(y,))
        log(y.grad)


@scenario
def batches_of_gradients(lib, log):
    x = lib.ones(2, 2, requires_grad=True)
    batch = lib.arange(3).expand(2, 2, 3).transpose(0, 2)
    out = x.clone()
    grad = lib.autograd.grad
    log.attempt(lambda: grad(out, (x,), (batch,), is_grads_batched=True, retain_graph=True))
    log.attempt(lambda: grad(out, (x,), (lib.ones(2, 2),), is_grads_batched=True))
    log.attempt(lambda: grad(out, (x,), (lib.ones(3, 2, 3),), is_grads_batched=True))
    total = x.sum()
    log.attempt(lambda: grad(total, (x,), (lib.arange(3),), is_grads_batched=True))
    log.attempt(lambda: grad(total, (x,), (lib.ones(2, 1),), is_grads_batched=True))
    log.attempt(lambda: grad(total, (x,), is_grads_batched=True))
    log.attempt(lambda: grad(x**3, x, lib.ones(2, 2, 2), is_grads_batched=True, create_graph=True))


@scenario
def dictionaries_of_inputs(lib, log):
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, -1.0)
    grad = lib.autograd.grad

    def total():
        return (x**2 + y * x).sum()

    def items(result):
        return [[key, value] for key, value in result.items()]

    log.attempt(lambda: items(grad(total(), {"x": x, "y": y})))
    log.attempt(lambda: items(grad(total(), {0: x, 1: y})))
    log.attempt(lambda: grad(total(), OrderedDict(x=x)))
    log.attempt(lambda: items(grad((x**2).sum(), {"x": x, "y": y}, materialize_grads=True)))
    log.attempt(lambda: items(grad((x**2).sum(), {"x": x, "y": y}, allow_unused=True)))
    log.attempt(lambda: items(grad((x**3).sum(), {"x": x}, create_graph=True)))
    log.attempt(lambda: items(grad(total(), {"x": x}, lib.ones(3), is_grads_batched=True)))
    log.attempt(lambda: grad(total(), {}))
    log.attempt(lambda: lib.autograd.backward(total(), inputs={"x": x, "y": y}))
    log.attempt(lambda: total().backward(inputs={"x": x}))
    log.attempt(lambda: lib.autograd.backward(total(), inputs={}))
    log(x.grad, y.grad)


@scenario
def chosen_inputs_of_backward(lib, log):
    x, y, unused = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, -1.0), leaf(lib, 5.0)

    def build():
        return x**2 + y * x + y**2

    for inputs in ([x, y], [x], [y], y, (x,)):
        lib.autograd.backward(build(), lib.ones(2), inputs=inputs)
        log(x.grad, y.grad)
    middle = x * 1
    out = middle**2 + y * middle
    out.sum().backward(inputs=[x, y, middle, unused], retain_graph=True)
    log(x.grad, y.grad, middle.grad, unused.grad, middle.retains_grad)
    out.sum().backward(inputs=[middle])
    log(x.grad, middle.grad)
    scalar = lib.tensor(3.0, requires_grad=True)
    (scalar**2).backward(inputs=scalar)
    log(scalar.grad)


@scenario
def several_outputs(lib, log):
    x, y, q = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, -1.0), leaf(lib, 0.5, 0.25)
    q2 = q * 2
    lib.autograd.backward([x + q2, x * y + q2], [lib.tensor([1.0, 2.0]), lib.tensor([3.0, 4.0])])
    log(x.grad, y.grad, q.grad)
    z = y**2
    lib.autograd.backward([z, z**3], [lib.ones(2), lib.tensor([2.0, 3.0])])
    log(y.grad)
    leaves = [lib.zeros(2, requires_grad=True) for _ in range(5)]
    inner = [one * i + one * one for i, one in enumerate(leaves)]
    loss = sum(one * i for i, one in enumerate(inner)).sum()
    found = [g for k in range(0, 5, 2) for g in lib.autograd.grad(loss, inner[k : k + 2])]
    lib.autograd.backward(inner, found)
    log([one.grad for one in leaves])


@scenario
def only_what_is_needed_is_saved(lib, log):
    mu, x = leaf(lib, 1.0), lib.empty(1)
    loss = 0
    for i in range(3):
        x.detach_()
        x.copy_(mu + i)
        loss += (x * lib.tensor([float(i)])).sum()
    loss.backward()
    log(mu.grad)


@scenario
def deep_graphs_are_freed(lib, log):
    class Sum(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    for step in (lambda y: y + y * 0.001, lambda y: Sum.apply(y, y)):
        y = leaf(lib, 1.0).clone()
        for _ in range(4000):
            y = step(y)
        seen = weakref.ref(y)
        del y
        gc.collect()
        log(seen() is None)


@scenario
def history_read_in_no_grad(lib, log):
    a = lib.tensor([1 + 1j], requires_grad=True).clone()
    v = a.real
    a.add_(1)
    with lib.no_grad():
        log(type(v.grad_fn).__name__)
    log(v, v.requires_grad)


@scenario
def leaves_of_another_shape(lib, log):
    x = leaf(lib, 1.0, 2.0)
    old = x.clone()
    x.data = lib.ones(3)
    log.attempt(lambda: old.backward(lib.ones(2)))
    log.attempt(lambda: x.clone().backward(lib.ones(3)))
    x = leaf(lib, 1.0, 2.0)
    x.sum().backward()
    with lib.no_grad():
        x.set_(lib.ones(3))
    log.attempt(lambda: x.clone().backward(lib.ones(3)))
    x.grad = None
    x.clone().backward(lib.ones(3))
    log(x.grad)
