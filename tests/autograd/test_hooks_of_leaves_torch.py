"""Hooks of tensors, leaves and nodes, and retained gradients; scenarios for both libraries."""

from __future__ import annotations

import copy
import gc
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


def accumulator_of(tensor):
    return tensor.view_as(tensor).grad_fn.next_functions[0][0]


def doubling(lib, custom):
    if not custom:
        return lambda x: x * 2

    class Doubling(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Doubling.apply


@scenario
def hooks_after_accumulation(lib, log):
    x = leaf(lib, 1.0, 2.0)
    log.attempt(lambda: (x * 2).register_post_accumulate_grad_hook(lambda t: None))
    log.attempt(lambda: lib.ones(2).register_post_accumulate_grad_hook(lambda t: None))
    x.register_post_accumulate_grad_hook(lambda t: log(t is x, lib.is_grad_enabled(), t.grad))

    def subtract(tensor):
        tensor.sub_(tensor.grad)

    def scale(tensor):
        tensor.mul_(4.0)

    x.register_post_accumulate_grad_hook(subtract)
    handle = x.register_post_accumulate_grad_hook(scale)
    x.sum().backward()
    log(x)
    handle.remove()
    x.sum().backward()
    log(x, x.grad)
    y = leaf(lib, 1.0)
    y.register_post_accumulate_grad_hook(lambda t: t.grad)
    log.attempt(lambda: y.sum().backward())
    z = leaf(lib, 1.0)

    def empty(tensor):
        tensor.grad = None

    z.register_post_accumulate_grad_hook(empty)
    (z * 2).backward()
    log(z.grad)


@scenario
def steps_inside_backward(lib, log):
    lib.manual_seed(1)
    model = lib.nn.Linear(3, 2)
    with lib.no_grad():
        model.weight.copy_(lib.arange(6.0).reshape(2, 3) / 7)
        model.bias.copy_(lib.tensor([0.5, -0.5]))
    twin = copy.deepcopy(model)
    given = lib.arange(6.0).reshape(2, 3) / 3
    optimizers = {p: lib.optim.Adam([p]) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters()]
    plain = lib.optim.Adam(twin.parameters())
    for _ in range(3):
        model(given).pow(2).sum().backward()
        twin(given).pow(2).sum().backward()
        plain.step()
        plain.zero_grad()
    log([p.detach() for p in model.parameters()], [p.detach() for p in twin.parameters()])
    for handle in handles:
        handle.remove()
    model(given).sum().backward()
    log([p.grad for p in model.parameters()])


@scenario
def what_hooks_keep_alive(lib, log):
    class Held:
        pass

    def build():
        held = Held()
        tensor = leaf(lib, 1.0)
        tensor.register_post_accumulate_grad_hook(lambda t, held=held: None)
        tensor.sum().backward()
        return tensor, weakref.ref(held)

    tensor, held = build()
    gc.collect()
    log(held() is not None)
    del tensor
    gc.collect()
    log(held() is None)


@scenario
def all_kinds_in_order(lib, log):
    x = leaf(lib, 1.0, 1.0)
    node = accumulator_of(x)

    def replace(grad_in, grad_out):
        log(len(grad_in), grad_out)
        x.grad = grad_out[0].mul(10)

    def raise_it(tensor):
        tensor.grad.add_(0.5)

    x.register_hook(lambda g: g.sub(2.0))
    node.register_prehook(lambda gs: (gs[0].div(5.0),))
    x.register_post_accumulate_grad_hook(raise_it)
    node.register_hook(replace)
    x.sum().backward()
    log(x.grad)


@scenario
def order_of_early_hooks(lib, log):
    a = lib.tensor(1.0, requires_grad=True)
    b = a.clone()

    def on_tensor(g):
        log("tensor", g)
        return g * 3

    def on_node(gs):
        log("node", gs)
        return tuple(g * 2 for g in gs)

    b.grad_fn.register_prehook(on_node)
    b.register_hook(on_tensor)
    b.grad_fn.register_prehook(on_node)
    node = b.grad_fn.next_functions[0][0]
    a.register_hook(on_tensor)
    node.register_prehook(on_node)
    a.register_hook(on_tensor)
    b.sum().backward(retain_graph=True)
    log(a.grad)
    log(lib.autograd.grad(b.sum(), (a,), retain_graph=True))
    b.sum().backward(inputs=(b,))
    log(b.grad)


@scenario
def retained_gradients_see_hooks(lib, log):
    for order in ("hook", "retain"), ("retain", "hook"), ("hook", "retain", "hook"):
        a = lib.tensor(1.0, requires_grad=True)
        b = a.clone()
        for one in order:
            if one == "hook":
                b.register_hook(lambda g: g * 2)
            else:
                b.retain_grad()
        b.clone().backward()
        log(b.grad, a.grad)


@scenario
def hooks_outside_of_the_targets(lib, log):
    def refuse(*given):
        raise RuntimeError("must not run")

    a, b = lib.tensor(1.0, requires_grad=True), lib.tensor(1.0, requires_grad=True)
    a.register_hook(refuse)
    c = a.clone()
    c.grad_fn.next_functions[0][0].register_hook(refuse)
    (a + b + c).sum().backward(inputs=[b])
    log(a.grad, b.grad)


@scenario
def which_hooks_run_for_which_call(lib, log):
    a = lib.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 2
    a.register_hook(lambda g: log("a"))
    b.register_hook(lambda g: log("b"))
    for name, node in (("a", b.grad_fn.next_functions[0][0]), ("b", b.grad_fn)):
        node.register_hook(lambda gi, go, name=name: log("after", name))
        node.register_prehook(lambda gs, name=name: log("before", name))
    for call in (
        lambda: lib.autograd.grad(c, (b,), retain_graph=True),
        lambda: lib.autograd.grad(c, (a, b), retain_graph=True),
        lambda: c.backward(retain_graph=True),
        lambda: c.backward(inputs=(a, b), retain_graph=True),
        lambda: c.backward(inputs=b, retain_graph=True),
    ):
        log("call")
        call()


@scenario
def hooks_of_nodes(lib, log):
    for custom in (True, False):
        double = doubling(lib, custom)
        a = leaf(lib, 1.0)
        b = double(a)
        b.grad_fn.register_hook(lambda gi, go: log("after", gi, go) or gi)
        b.grad_fn.register_hook(lambda gi, go: (gi[0] + 1, *gi[1:]))
        for result in (lambda g: (g[0] * 2,), lambda g: None, lambda g: g, lambda g: (g[0] * 3,)):
            b.grad_fn.register_prehook(result)
        b.sum().backward()
        log(a.grad)
        a = lib.ones(2, 2, requires_grad=True)
        b = double(a)
        first = b.grad_fn.register_prehook(lambda g: log("removed"))
        last = []

        def remover(grads, last=last):
            last[0].remove()
            last[1].remove()

        b.grad_fn.register_prehook(remover)
        last.append(b.grad_fn.register_prehook(lambda g: log("removed while running")))
        last.append(b.grad_fn.register_prehook(lambda g: log("removed before")))
        last[1].remove()
        first.remove()
        b.sum().backward()
        log(a.grad)


@scenario
def hooks_of_nodes_with_several_outputs(lib, log):
    class Pair(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, y):
            ctx.factor = factor
            return factor * x * 2, factor, factor * y * 2

        @staticmethod
        def backward(ctx, first, nothing, second):
            log(nothing)
            return ctx.factor * first * 2, None, ctx.factor * second * 2

    a, b = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    c, _, d = Pair.apply(a, 3, b)

    def twice(grads):
        log(len(grads), grads[1])
        return grads[0] * 2, None, grads[2] * 2

    c.grad_fn.register_prehook(twice)
    (c + d).sum().backward()
    log(a.grad, b.grad)
    x = lib.arange(6.0).reshape(2, 3).requires_grad_()
    var, mean = lib.var_mean(x, dim=0)
    mean.grad_fn.register_prehook(lambda grads: tuple(g if g is None else g * 2 for g in grads))
    (var + mean).sum().backward()
    log(x.grad)
    var, mean = lib.var_mean(x, dim=0)
    mean.grad_fn.register_prehook(lambda grads: log(grads))
    mean.sum().backward()
    log(x.grad)


@scenario
def retained_gradients(lib, log):
    x = lib.ones(1, 3, requires_grad=True)
    h = x * 3
    out = (h * h).sum()
    h.retain_grad()
    h.retain_grad()
    out.backward(retain_graph=True)
    log(h.grad)
    out.backward(retain_graph=True)
    log(h.grad, h.retains_grad, x.retains_grad)
    x.retain_grad()
    log(x.retains_grad)
    log.attempt(lambda: lib.ones(2).retain_grad())
    for writes in (1, 2):
        a = leaf(lib, 1.0).clone()
        a.retain_grad()
        for _ in range(writes):
            a.mul_(2)
        a.sum().backward()
        log(a.grad)
    x = leaf(lib, 1.0).clone()
    x.retain_grad()
    view = x[:]
    view *= 2
    x *= 2
    x.sum().backward()
    log(x.grad)
    base = leaf(lib, 1.0).clone()
    first, second = base[:], base[:]
    first.retain_grad()
    second.retain_grad()
    first.mul_(2)
    (first + second).sum().backward()
    log(first.grad, second.grad)
    lib.zeros(4).view(2, 2).add_(lib.ones(2, 2, requires_grad=True))
    y = leaf(lib, 1.0) * 2
    y.retain_grad()
    gone = weakref.ref(y)
    z = y / 2
    del y
    gc.collect()
    log(gone() is None)
    z.sum().backward()


@scenario
def hooks_and_writes(lib, log):
    a = leaf(lib, 1.0)
    b = a.clone()
    b.register_hook(lambda g: log("old", g) or g * 2)
    b.mul_(2)
    b.register_hook(lambda g: log("new", g) or g * 2)
    b.mul_(2)
    b.sum().backward()
    log(a.grad)

    class Pair(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    for function in (Pair.apply, lambda x: lib.var_mean(x, dim=0)):
        x = lib.arange(6.0).reshape(2, 3).requires_grad_()
        first, second = function(x)
        first.register_hook(lambda g: log("first, old", g))
        second.register_hook(lambda g: log("second", g))
        second.retain_grad()
        first.retain_grad()
        first.mul_(2)
        first.register_hook(lambda g: log("first, new", g))
        (first + second * 3).sum().backward()
        log(first.grad, second.grad, x.grad)
    base = leaf(lib, 1.0).clone()
    first, second = base[:], base[:]
    first.register_hook(lambda g: log("not called"))
    second.register_hook(lambda g: log("not called either"))
    first.mul_(2)
    log(type(second.grad_fn).__name__)
    second.register_hook(lambda g: log("called", g))
    (first + second).sum().backward()


@scenario
def hooks_around_modules(lib, log):
    order = []
    module = lib.nn.Sequential(lib.nn.Linear(2, 2))
    x = lib.ones(2, 2, requires_grad=True)
    loss = module(x).sum()
    count = 0

    def visit(node):
        nonlocal count
        count += 1
        name = f"{node.name()} {count}"
        node.register_prehook(lambda gs: order.append(f"before {name}"))
        node.register_hook(lambda gi, go: order.append(f"after {name}"))
        for following, _ in node.next_functions:
            visit(following)

    visit(loss.grad_fn)
    for name, one in (("x", x), ("weight", module[0].weight), ("bias", module[0].bias)):
        one.register_hook(lambda g, name=name: order.append(f"tensor {name}"))
        one.register_post_accumulate_grad_hook(lambda t, name=name: order.append(f"end {name}"))
    loss.backward()
    log(order)


@scenario
def objects_as_hooks(lib, log):
    class Callable:
        def __call__(self, grad):
            return grad * 5

    x = leaf(lib, 1.0)
    y = x.clone()
    y.register_hook(Callable())
    y.sum().backward()
    log(x.grad)
    log.attempt(lambda: y.register_hook(3))
    log.attempt(lambda: lib.ones(1).register_hook(Callable()))


@scenario
def hooks_die_with_their_node(lib, log):
    class Counter:
        def __del__(self):
            dead.append(1)

        def __call__(self, *given):
            pass

    dead = []

    def build():
        root = lib.ones(3, 3, requires_grad=True)
        copied = root.clone()
        copied.grad_fn.register_hook(Counter())
        view = copied.view(9)
        lib.nn.functional.relu(view, inplace=True)

    build()
    log(len(dead))


@scenario
def hooks_registered_while_the_node_runs(lib, log):
    class Registers(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            ctx.register_hook(lambda gi, go: log("post", gi, go) or (gi[0] * 10,))
            ctx.register_prehook(lambda go: log("pre", go))
            return grad * 2

    for early in (False, True):
        for create in (False, True):
            x = leaf(lib, 1.0, 2.0)
            y = Registers.apply(x)
            if early:
                y.grad_fn.register_hook(lambda gi, go: log("early", gi, go))
            log(lib.autograd.grad(y.sum(), x, create_graph=create))
            y = Registers.apply(x)
            y.register_hook(lambda g: log("tensor"))
            y.sum().backward()
            log(x.grad)


@scenario
def hooks_registered_while_unpacking(lib, log):
    nodes = []

    def unpack(tensor):
        nodes[-1].register_hook(
            lambda gi, go: log(len(gi), len(go)) or tuple(None if g is None else g / 2 for g in gi)
        )
        return tensor

    for early in (False, True):
        x = leaf(lib, 1.0, 2.0)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
            y = x.exp()
        nodes.append(y.grad_fn)
        if early:
            y.grad_fn.register_hook(lambda gi, go: log("early", gi, go))
        y.sum().backward()
        log(x.grad)
