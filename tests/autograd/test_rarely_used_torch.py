"""The documented parts of `autograd` that few programs use; scenarios for both libraries."""

from __future__ import annotations

import inspect
import itertools

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
def counters_moved_by_hand(lib, log):
    move = lib.autograd.graph.increment_version
    x, y = lib.ones(2), lib.ones(2)
    move(x)
    log(x._version)
    move((x, y))
    move([x])
    move(iter([y]))
    log(x._version, y._version)
    a = leaf(lib, 1.0)
    b = a * 2
    out = b**2
    move(b)
    log.attempt(lambda: out.sum().backward())
    log.attempt(lambda: move(1))
    with lib.inference_mode():
        z = lib.ones(1)
    log.attempt(lambda: move(z))


@scenario
def saved_hooks_as_decorators(lib, log):
    graph = lib.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda t: log("pack") or t, lambda t: log("unpack") or t)
    x = leaf(lib, 2.0)
    with hooks:
        y = x.sin()
    with hooks:
        z = x.exp()
    (y + z).sum().backward()
    log(x.grad)
    for context in (graph.save_on_cpu(), graph.save_on_cpu(pin_memory=False, device_type="cpu")):
        with context:
            w = x * x
        log(w.grad_fn._saved_self, w.grad_fn._saved_self is x)
    with graph.saved_tensors_hooks(lambda t: t.numel(), lambda n: lib.full((n,), 7.0)):
        v = leaf(lib, 1.0, 2.0) * leaf(lib, 3.0, 4.0)
    log(v.grad_fn._saved_self, v.grad_fn._saved_other)
    v.sum().backward()


@scenario
def nodes_and_what_they_tell(lib, log):
    x = leaf(lib, 1.0, 2.0)
    y = (x * 2).sum()
    node = y.grad_fn
    log(node.name(), node.metadata == {}, len(node.next_functions), node.next_functions[0][1])
    node.metadata["key"] = 3
    log(y.grad_fn.metadata["key"], y.grad_fn is node, node == y.grad_fn)
    log(node.next_functions[0][0].next_functions[1][0])
    log(node.next_functions[0][0].next_functions[0][0].variable is x)
    for member in ("name", "metadata", "next_functions", "register_hook", "register_prehook"):
        log(member, hasattr(lib.autograd.graph.Node, member))
    log.attempt(lambda: lib.autograd.graph.Node())
    log.attempt(lambda: node(lib.tensor(1.0)))
    log.attempt(lambda: node(lib.ones(3)))
    log.attempt(lambda: node())
    log.attempt(lambda: node(None))
    log.attempt(lambda: x.sin().grad_fn(lib.ones(2), lib.ones(2)))
    handle = node.register_prehook(lambda grads: (grads[0] * 10,))
    y.backward(retain_graph=True)
    log(x.grad)
    handle.remove()
    node.register_hook(lambda inputs, outputs: (inputs[0] + 1,))
    y.backward(retain_graph=True)
    log(x.grad)
    log.attempt(lambda: node.register_hook(lambda i, o: (i[0], i[0])) and y.backward())


@scenario
def kinds_of_functions(lib, log):
    module = lib.autograd.function

    class Once(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @module.once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            log(lib.is_grad_enabled())
            return 2 * x * grad

    x = leaf(lib, 3.0)
    (first,) = lib.autograd.grad(Once.apply(x), x, create_graph=True)
    log(first.requires_grad, first.grad_fn is not None)
    log.attempt(lambda: first.sum().backward())

    class Writing(module.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = leaf(lib, 1.0)
    Writing.apply(y.clone()).sum().backward()
    log(y.grad)
    log(issubclass(Writing, lib.autograd.Function), Writing(True).inplace, Writing().inplace)
    for name in ("FunctionCtx", "BackwardCFunction", "FunctionMeta", "Function", "InplaceFunction"):
        log(name, inspect.isclass(getattr(module, name)))
    log(Once.apply(x).grad_fn.name(), type(Once.apply(x).grad_fn).__name__)
    log(Once._backward_cls.__name__, Once.apply(x).grad_fn._forward_cls is Once)


@scenario
def materialized_gradients(lib, log):
    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, flag):
            if flag is not None:
                ctx.set_materialize_grads(flag)
            return x.clone(), x.clone(), x.long()

        @staticmethod
        def backward(ctx, *grads):
            log([None if grad is None else grad for grad in grads])
            return sum(grad for grad in grads[:2] if grad is not None), None

    for flag, used in itertools.product((None, True, False), ((0,), (1,), (0, 1))):
        x = leaf(lib, 1.0)
        outs = Two.apply(x, flag)
        sum(outs[number] for number in used).sum().backward()
        log(x.grad)


@scenario
def flags_of_arguments(lib, log):
    class Flags(lib.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            log(ctx.needs_input_grad)
            return args[0] * 1

        @staticmethod
        def backward(ctx, grad):
            log(ctx.needs_input_grad)
            return (grad,) + (None,) * (len(ctx.needs_input_grad) - 1)

    x, y = leaf(lib, 1.0), lib.ones(1)
    for args in ((x, y), (y, x), (x, 1, "s", None), (x, x), (y, y), (x, [x], (x,), {"x": x})):
        out = Flags.apply(*args)
        log(out.requires_grad)
        if out.requires_grad:
            out.sum().backward()
    with lib.no_grad():
        Flags.apply(x)


@scenario
def forms_of_calls(lib, log):
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    out = x * y
    grad = lib.autograd.grad
    log(grad([out], [x], [lib.ones(2)], retain_graph=True))
    log(grad((out,), x, lib.ones(2), retain_graph=True))
    log(grad(outputs=out.sum(), inputs=(x, y), retain_graph=True))
    log(grad([out.sum(), out.sum()], x, [None, lib.tensor(2.0)], retain_graph=True))
    log.attempt(lambda: grad(out, x))
    log.attempt(lambda: grad(out.sum(), []))
    log.attempt(lambda: grad([], x))
    log.attempt(lambda: grad(out.sum(), [x, 1]))
    log.attempt(lambda: grad(out, x, lib.ones(3)))
    log.attempt(lambda: grad(out, x, lib.ones(2).long()))
    log.attempt(lambda: grad(out, x, lib.ones(2) + 0j))
    log.attempt(lambda: grad(out, x, [lib.ones(2), lib.ones(2)]))
    log.attempt(lambda: grad(out, x, 1.0))
    log.attempt(lambda: grad(x.detach().sum(), x))
    log.attempt(lambda: grad(out.sum(), y.detach()))
    log.attempt(lambda: grad(out.sum(), (x, leaf(lib, 1.0)), allow_unused=True))
    log.attempt(lambda: grad(out.sum(), (x, leaf(lib, 1.0)), materialize_grads=True))
    log.attempt(
        lambda: grad(out.sum(), (x, leaf(lib, 1.0)), materialize_grads=True, allow_unused=False)
    )
    log.attempt(lambda: grad(out.sum(), x, only_inputs=False))
    backward = lib.autograd.backward
    log.attempt(lambda: backward(out))
    log.attempt(lambda: backward(out, grad_tensors=lib.ones(2), grad_variables=lib.ones(2)))
    log.attempt(lambda: backward(out, grad_variables=lib.ones(2)))
    log.attempt(lambda: backward(out, lib.ones(2), inputs=[]))
    log.attempt(lambda: backward([out, out], [lib.ones(2)]))
    log.attempt(lambda: lib.ones(1).backward())
    log.attempt(lambda: out.sum().backward(lib.tensor(1.0), True, False))
    log(x.grad, y.grad)


@scenario
def functional_derivatives(lib, log):
    functional = lib.autograd.functional
    x, v = lib.tensor([1.0, 2.0, 3.0]), lib.tensor([1.0, 0.0, 2.0])

    def cube(t):
        return (t**3).sum()

    def many(t):
        return t.exp(), lib.outer(t, t)

    for function, options in itertools.product(
        (cube, many), ({}, {"create_graph": True}, {"strict": True}, {"vectorize": True})
    ):
        log.attempt(lambda f=function, o=options: functional.jacobian(f, x, **o))
    log.attempt(lambda: functional.jacobian(many, x, strategy="forward-mode", vectorize=True))
    log.attempt(lambda: functional.jacobian(many, x, strategy="forward-mode"))
    log.attempt(lambda: functional.hessian(cube, x))
    log.attempt(lambda: functional.hessian(many, x))
    log.attempt(lambda: functional.hessian(lambda a, b: (a * b**2).sum(), (x, v)))
    log.attempt(
        lambda: functional.hessian(cube, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    )
    log.attempt(lambda: functional.vjp(lambda t: t**2, x, v))
    log.attempt(lambda: functional.jvp(lambda t: t**2, x, v))
    log.attempt(lambda: functional.vhp(cube, x, v))
    log.attempt(lambda: functional.hvp(cube, x, v))
    log.attempt(lambda: functional.vjp(lambda t: t**2, x))
    log.attempt(lambda: functional.jvp(lambda t: t**2, x, v[:2]))
    log.attempt(lambda: functional.vjp(lambda t: t.detach(), x, v, strict=True))
    log.attempt(lambda: functional.jvp(lambda t: t.detach(), x, v, strict=True))
    log.attempt(lambda: functional.hvp(lambda t: t.sum(), x, v, strict=True))
    log.attempt(lambda: functional.hvp(lambda t: t.sum(), x, v))
    log.attempt(lambda: functional.jacobian(lambda t: 1.0, x))
    log.attempt(lambda: functional.jacobian(cube, [1.0]))


@scenario
def anomalies(lib, log):
    class Failing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    x = leaf(lib, 0.0)
    for check in (True, False):
        with lib.autograd.detect_anomaly(check_nan=check):
            log(lib.is_anomaly_enabled(), lib.is_anomaly_check_nan_enabled())
            log.attempt(lambda: Failing.apply(x).sum().backward())
            log.attempt(lambda: (x.sqrt() * 0).sum().backward())
    with lib.autograd.set_detect_anomaly(True):
        log(lib.is_anomaly_enabled(), lib.is_anomaly_check_nan_enabled())
    log(lib.is_anomaly_enabled())
