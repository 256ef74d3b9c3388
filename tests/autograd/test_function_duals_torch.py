"""Functions of one's own in forward mode, with boxed gradients, and with awkward results."""

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
    return lib.autograd.forward_ad.make_dual(primal, tangent)


@scenario
def boxed_gradients(lib, log):
    class Boxed(lib.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            ctx.save_for_backward(x)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            log(type(grads).__name__, len(grads), grads)
            found = [grad for grad in grads if grad is not None]
            grads.clear()
            (x,) = ctx.saved_tensors
            return sum(found) * x, None

    for materialize, used in itertools.product((True, False), ((0,), (1,), (0, 1))):
        x = leaf(lib, 1.0, 2.0)
        outs = Boxed.apply(x, materialize)
        sum(outs[number].sum() for number in used).backward()
        log(x.grad)
    x = leaf(lib, 1.0, 2.0)
    first, _ = Boxed.apply(Boxed.apply(x, True)[0], True)
    first.sum().backward()
    log(x.grad)
    node = Boxed.apply(x, True)[0].grad_fn
    log.attempt(lambda: node.apply(lib.ones(2), lib.ones(2) * 2))
    log.attempt(lambda: node(lib.ones(2), lib.ones(2)))


@scenario
def boxed_gradients_are_let_go(lib, log):
    class Boxed(lib.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grads):
            grad = grads[0]
            copy, reference = grad.clone(), weakref.ref(grad)
            grads.clear()
            del grad
            log(reference() is None)
            return copy * 2

    class Failing(lib.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grads):
            raise ValueError("on purpose")

    x = leaf(lib, 1.0)
    Boxed.apply(x).sum().backward()
    log(x.grad)
    log.attempt(lambda: Failing.apply(x).sum().backward())
    received = []

    class Keeping(Boxed):
        @staticmethod
        def backward(ctx, grads):
            received.append(grads)
            return grads[0]

    given = [lib.ones(1)]
    log.attempt(lambda: Keeping.apply(x).grad_fn.apply(given))
    log(type(received[0]).__name__, len(received[0]), received[0][0] is given)


@scenario
def saved_tensors_that_can_be_read_once(lib, log):
    class Once(lib.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x, twice):
            ctx.save_for_backward(x)
            ctx.twice = twice
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            reference = weakref.ref(x)
            del x
            log(reference() is None)
            if ctx.twice:
                log(len(ctx.saved_tensors))
            return grad, None

    for twice in (False, True):
        x = leaf(lib, 1.0)
        log.attempt(lambda x=x, twice=twice: Once.apply(x.clone(), twice).sum().backward())
        log(x.grad)
    y = Once.apply(leaf(lib, 1.0).clone(), False)
    log.attempt(lambda: y.grad_fn.saved_tensors)
    log.attempt(lambda: y.grad_fn.saved_tensors)
    log.attempt(lambda: y.sum().backward())


@scenario
def defaults_and_class_methods(lib, log):
    class Power(lib.autograd.Function):
        @classmethod
        def forward(cls, x, exponent=3, *, shift=0):
            return x**exponent + shift

        @classmethod
        def setup_context(cls, ctx, inputs, output):
            log(len(inputs), inputs[1:])
            x, ctx.exponent = inputs[:2]
            ctx.save_for_backward(x)

        @classmethod
        def backward(cls, ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.exponent * x ** (ctx.exponent - 1), None

    x = leaf(lib, 2.0)
    for call in (
        lambda: Power.apply(x),
        lambda: Power.apply(x, 2),
        lambda: Power.apply(x, exponent=2),
        lambda: Power.apply(x, shift=1),
        lambda: Power.apply(),
    ):
        out = log.attempt(call)
        if out is not None:
            log.attempt(lambda out=out: lib.autograd.grad(out, x))


@scenario
def missing_methods(lib, log):
    ad = lib.autograd.forward_ad

    class NoForward(lib.autograd.Function):
        @staticmethod
        def backward(ctx, grad):
            return grad

    class NoBackward(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    class Both(NoBackward):
        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def vjp(ctx, grad):
            return grad

    x = leaf(lib, 1.0)
    for kind in (NoForward, NoBackward, Both):
        log.attempt(lambda kind=kind: kind.apply(x).sum().backward())
        with ad.dual_level():
            log.attempt(lambda kind=kind: kind.apply(dual_of(lib, x, lib.ones(1))))
            log.attempt(lambda kind=kind: kind.apply(dual_of(lib, x.detach(), lib.ones(1))))
    log.attempt(lambda: NoBackward())
    log.attempt(lambda: NoBackward()(x))
    log.attempt(lambda: lib.autograd.Function.apply(x))


@scenario
def views_of_tangents(lib, log):
    ad = lib.autograd.forward_ad

    class First(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, flag):
            ctx.flag, ctx.size = flag, x.size()
            return x.narrow(0, 0, 2)

        @staticmethod
        def vjp(ctx, grad):
            return lib.cat([grad, grad.new_zeros(ctx.size[0] - 2)]), None

        @staticmethod
        def jvp(ctx, tangent, _):
            result = tangent.narrow(0, 0, 2)
            if ctx.flag == "copy":
                return result.clone()
            if ctx.flag == "view of a copy":
                return result.clone().view(2)
            return result

    for flag, view in itertools.product(("same", "copy", "view of a copy"), (True, False)):
        with ad.dual_level():
            x, tangent = lib.ones(3, dtype=lib.double), lib.arange(3.0, dtype=lib.double)
            dual = dual_of(lib, x, tangent)
            dual = dual.view_as(dual) if view else dual

            def run(dual=dual, flag=flag):
                out = First.apply(dual, flag)
                log(ad.unpack_dual(out), out._is_view())
                return ad.unpack_dual(out).tangent._is_view()

            log(flag, view)
            log.attempt(run)
        x = leaf(lib, 1.0, 2.0, 3.0, dtype=lib.double)
        log.attempt(
            lambda x=x, flag=flag: lib.autograd.gradcheck(
                First.apply, (x, flag), check_forward_ad=True, check_backward_ad=False
            )
        )


@scenario
def writes_of_tangents(lib, log):
    ad = lib.autograd.forward_ad

    class Doubling(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, in_place):
            ctx.mark_dirty(x)
            ctx.in_place = in_place
            return x.mul_(2)

        @staticmethod
        def vjp(ctx, grad):
            return 2 * grad, None

        @staticmethod
        def jvp(ctx, tangent, _):
            return tangent.mul_(2) if ctx.in_place else tangent * 2

    for in_place, requires in itertools.product((True, False), (True, False)):
        x = leaf(lib, 1.0) if requires else lib.ones(1)
        copied = x.clone()
        log(Doubling.apply(copied, in_place) is copied)
        with ad.dual_level():
            tangent = lib.ones(1)
            dual = dual_of(lib, x.clone(), tangent)

            def run(dual=dual, tangent=tangent, in_place=in_place):
                out = Doubling.apply(dual, in_place)
                return out is dual, ad.unpack_dual(out).tangent is tangent, tangent

            log.attempt(run)
    wrong = leaf(lib, 1.0, dtype=lib.double)
    for in_place in (True, False):
        log.attempt(
            lambda in_place=in_place: lib.autograd.gradcheck(
                lambda t: Doubling.apply(t.clone(), in_place), wrong, check_forward_ad=True
            )
        )


@scenario
def results_of_jvp(lib, log):
    ad = lib.autograd.forward_ad

    def function(forward, jvp):
        class Made(lib.autograd.Function):
            pass

        Made.forward, Made.jvp = staticmethod(forward), staticmethod(jvp)
        return Made.apply

    def marking(ctx, x, y):
        out = y.clone()
        ctx.mark_non_differentiable(out)
        return x.clone(), out

    whole = lib.tensor(3)
    cases = [
        (marking, lambda ctx, x, y: (x, None), lib.tensor(3.0)),
        (marking, lambda ctx, x, y: (x, x.clone()), lib.tensor(3.0)),
        (lambda ctx, x, y: (x.clone(), y.clone()), lambda ctx, x, y: (x, None), whole),
        (lambda ctx, x, y: (x.clone(), y.clone()), lambda ctx, x, y: (x, x), whole),
        (lambda ctx, x, y: (x.clone(), object()), lambda ctx, x, y: (x, None), 1),
        (lambda ctx, x, y: (x.clone(), None), lambda ctx, x, y: (x, None), 1),
        (lambda ctx, x, y: (x.clone(), x + 1), lambda ctx, x, y: x, 1),
        (lambda ctx, x, y: (x.clone(), x + 1), lambda ctx, x, y: (x, x, x), 1),
        (lambda ctx, x, y: x.clone(), lambda ctx, x, y: "text", 1),
        (lambda ctx, x, y: x.clone(), lambda ctx, x, y: x.expand(2), 1),
        (lambda ctx, x, y: x.clone(), lambda ctx, x, y: x.double(), 1),
        (lambda ctx, x, y: x, lambda ctx, x, y: x, 1),
        (lambda ctx, x, y: x, lambda ctx, x, y: x.view_as(x), 1),
        (lambda ctx, x, y: x, lambda ctx, x, y: x * 2, 1),
        (lambda ctx, x, y: (x + 1, x), lambda ctx, x, y: (x, x.view_as(x)), 1),
        (lambda ctx, x, y: x * 2, lambda ctx, x: x * 2, 1),
    ]
    for number, (forward, jvp, second) in enumerate(cases):
        with ad.dual_level():
            dual = dual_of(lib, lib.tensor(2.0), lib.tensor(1.0))

            def run(dual=dual, forward=forward, jvp=jvp, second=second):
                outs = function(forward, jvp)(dual, second)
                outs = outs if isinstance(outs, tuple) else (outs,)
                return [ad.unpack_dual(o) if hasattr(o, "detach") else o for o in outs]

            log(number)
            log.attempt(run)


@scenario
def arguments_of_jvp(lib, log):
    ad = lib.autograd.forward_ad

    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, text, x, number, y, z):
            ctx.save_for_forward(x, y)
            ctx.save_for_backward(x)
            return x * 2 + y * 3

        @staticmethod
        def jvp(ctx, text, x, number, y, z):
            log(text, x, number, y, z, len(ctx.saved_tensors), ctx.needs_input_grad)
            return (0 if x is None else x * 2) + (0 if y is None else y * 3)

    one = lib.tensor(1.0)
    for x, y, keep in itertools.product((True, False), (True, False), (True, False)):
        with ad.dual_level():
            left = dual_of(lib, one, one * 2) if x else one.clone()
            right = dual_of(lib, one, one * 3) if y else one.clone()
            left.requires_grad_(keep and not x)
            out = Mixed.apply("text", left, 1, right, lib.tensor(1))
            log(ad.unpack_dual(out), out.requires_grad)


@scenario
def saved_for_forward(lib, log):
    ad = lib.autograd.forward_ad

    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, keep):
            if keep:
                ctx.save_for_forward(x, y)
            ctx.save_for_backward(y, x)
            ctx.product = x * y
            return ctx.product * 4

        @staticmethod
        def jvp(ctx, x_tangent, y_tangent, _):
            log(len(ctx.saved_tensors), ctx.product)
            if not ctx.saved_tensors:
                return x_tangent * 0
            x, y = ctx.saved_tensors
            log(ad.unpack_dual(x).tangent, x.requires_grad)
            return 4 * (y * x_tangent)

        @staticmethod
        def vjp(ctx, grad):
            y, x = ctx.saved_tensors
            log("vjp", ad.unpack_dual(x).tangent)
            return 4 * grad * y, 4 * grad * x, None

    for keep, requires in itertools.product((True, False), (True, False)):
        with ad.dual_level():
            x = dual_of(lib, lib.ones(1, requires_grad=requires), lib.ones(1) * 5)
            y = lib.ones(1, requires_grad=requires) * 2
            out = log.attempt(lambda x=x, y=y, keep=keep: Product.apply(x, y, keep))
            if requires and out is not None:
                out.sum().backward()
                log(ad.unpack_dual(out))


@scenario
def cycles_through_contexts(lib, log):
    class Holding(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, facts):
            ctx.facts = facts
            out = x.clone()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            log(ctx.facts["out"])
            return grad * x, None

    def reference(run):
        x, facts = leaf(lib, 3.0), {}
        out = Holding.apply(x, facts)
        facts["out"] = out
        if run:
            out.sum().backward()
            log(x.grad)
        return weakref.ref(out)

    gc.collect()
    gc.disable()
    try:
        for run in (False, True):
            found = reference(run)
            log(found() is not None)
            gc.collect()
            log(found() is None)
    finally:
        gc.enable()


@scenario
def mutated_views_do_not_leak(lib, log):
    class Marking(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    def made(view):
        x = leaf(lib, 1.0).clone()
        x = x.view_as(x) if view else x
        Marking.apply(x)
        return weakref.ref(x)

    log(made(True)(), made(False)())


@scenario
def kinds_of_nodes(lib, log):
    Node = lib.autograd.graph.Node

    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            log(isinstance(ctx, Node))
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            log(isinstance(ctx, Node))
            return grad

    x = leaf(lib, 1.0)
    y = x.exp()
    custom = Plain.apply(y)
    for node in (y.grad_fn, y.grad_fn.next_functions[0][0], custom.grad_fn):
        log(isinstance(node, Node), issubclass(type(node), Node), Node in type(node).mro())
    log(isinstance(None, Node), isinstance(1, Node), isinstance(Node, Node), issubclass(Node, Node))
    log(issubclass(lib.autograd.function.BackwardCFunction, Node), issubclass(int, Node))
    custom.sum().backward()
