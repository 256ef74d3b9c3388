"""Custom functions: what they may take, return and refuse; scenarios for both libraries."""

from __future__ import annotations

import itertools
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


def tree(node):
    """The names of a graph's nodes, as nested text."""
    if node is None:
        return "-"
    inner = ",".join(tree(following) for following, _ in node.next_functions)
    return f"{type(node).__name__}[{inner}]"


def mixing(lib, decorate, seen):
    class Mixing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, first, number, second):
            ctx.number = number
            ctx.save_for_backward(first, second)
            return first * second + number * second

        @staticmethod
        @decorate
        def backward(ctx, grad):
            first, second = ctx.saved_tensors
            seen(lib.is_grad_enabled())
            return grad * second, None, grad * (first + ctx.number)

    return Mixing


@scenario
def graphs_of_gradients(lib, log):
    for decorate in (lambda f: f, lib.autograd.function.once_differentiable):
        function = mixing(lib, decorate, log)
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, -1.0)
        out = function.apply(x, 3, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about cycles; PyTorch says it once
            out.sum().backward(lib.ones((), requires_grad=True), create_graph=True)
        log(x.grad, y.grad, tree(out.grad_fn), tree(x.grad.grad_fn), tree(y.grad.grad_fn))
        log.attempt(lambda x=x: x.grad.sum().backward())
        x.grad = y.grad = None


@scenario
def input_returned_as_output(lib, log):
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    for shape in ((1,), (), (2, 3)):
        x = lib.ones(shape, requires_grad=True)
        for source in (x, x.clone(), x.view_as(x)):
            out = Same.apply(source)
            log(out is source, out._is_view(), out.is_leaf, tree(out.grad_fn))
            out.sum().backward()
            log(x.grad)
            x.grad = None


@scenario
def no_gradient_at_all(lib, log):
    class Silent(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    x = leaf(lib, 1.0)
    for out in (
        Silent.apply(x),
        Silent.apply(x**2),
        Silent.apply(x).sum(),
        Silent.apply(x * x).exp(),
    ):
        out.backward(retain_graph=True)
        log(x.grad)
        log.attempt(lambda out=out: lib.autograd.grad(out, x, allow_unused=True, retain_graph=True))
        log.attempt(
            lambda out=out: lib.autograd.grad(out, x, materialize_grads=True, retain_graph=True)
        )
        log.attempt(lambda out=out: lib.autograd.grad(out, x, retain_graph=True))


def two_outputs(lib, log, materialize, mark, wanted):
    class Two(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x.clone(), x.clone()
            ctx.set_materialize_grads(materialize)
            if mark:
                ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = wanted
            return first, second

        @staticmethod
        def backward(ctx, first, second):
            log(first, second)
            return first

    return Two


@scenario
def unused_outputs_are_materialized_or_not(lib, log):
    for choices in itertools.product((True, False), repeat=3):
        x = leaf(lib, 1.0, 2.0)
        out = two_outputs(lib, log, *choices).apply(x)
        log(out[0].requires_grad, out[1].requires_grad)
        out[0].sum().backward()
        log(x.grad)


@scenario
def non_tensors_in_and_out(lib, log):
    class Odd(lib.autograd.Function):
        @staticmethod
        def forward(ctx, first, second, scale, third):
            made = first + second * third
            other = first * second + third
            made *= scale
            other *= scale
            ctx.scale = scale
            if hasattr(first, "shape"):
                ctx.save_for_backward(first, second, third)
            return scale, made, None, True, other, "text", first

        @staticmethod
        @lib.autograd.function.once_differentiable
        def backward(ctx, *grads):
            log(len(grads), [grad is None for grad in grads], ctx.needs_input_grad)
            first, second, third = ctx.saved_tensors
            return (
                (grads[1] + grads[4] * second) * ctx.scale + grads[6],
                (grads[1] * third + grads[4] * first) * ctx.scale,
                None,
                (grads[1] * second + grads[4]) * ctx.scale,
            )

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, -1.0)
    z = lib.tensor([0.5, 0.25])
    got = Odd.apply(x, y, 3, z)
    log(got, [getattr(item, "output_nr", None) for item in got], got[6] is x)
    lib.autograd.backward([got[1].sum(), got[4].sum(), got[6].sum()])
    log(x.grad, y.grad, z.grad)
    log(Odd.apply(0.5, 0.25, 4, 2.0))
    log(Odd.apply(x.detach(), y.detach(), 4, z))
    doubles = [item.detach().double().requires_grad_() for item in (x, y)]
    log(
        lib.autograd.gradcheck(
            lambda a, b: [out for out in Odd.apply(a, b, 2, z.double()) if hasattr(out, "shape")],
            doubles,
        )
    )


@scenario
def keyword_arguments_of_apply(lib, log):
    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=1):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(lib, 2.0)
    log.attempt(lambda: Scale.apply(x))
    log.attempt(lambda: Scale.apply(x, 3))
    log.attempt(lambda: Scale.apply(x, factor=3))
    log.attempt(lambda: Scale.apply(x=x))
    log.attempt(lambda: Scale.apply(x, bad=3))
    log.attempt(lambda: Scale.apply(x, 3, factor=4))


@scenario
def keyword_arguments_with_setup_context(lib, log):
    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(x, factor=1):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            log(len(inputs))
            ctx.factor = inputs[-1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(lib, 2.0)
    log.attempt(lambda: lib.autograd.grad(Scale.apply(x, 5), x))
    log.attempt(lambda: lib.autograd.grad(Scale.apply(x, factor=5), x))
    log.attempt(lambda: Scale.apply(x))
    log.attempt(lambda: Scale.apply(factor=2, x=x))


@scenario
def wrong_definitions(lib, log):
    class Legacy(lib.autograd.Function):
        def forward(self, x):
            return x

        def backward(self, grad):
            return grad

    class Nothing(lib.autograd.Function):
        pass

    class NoBackward(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = leaf(lib, 2.0)
    log.attempt(lambda: Legacy()(x))
    log.attempt(lambda: Legacy.apply(x))
    log.attempt(lambda: Nothing.apply(x))
    log.attempt(lambda: NoBackward.apply(x))
    log.attempt(lambda: NoBackward.apply(x).backward())


@scenario
def gradients_of_the_wrong_form(lib, log):
    def returning(result):
        class Wrong(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return result(grad)

        return Wrong

    for result in (
        lambda g: lib.ones(10),
        lambda g: (g, g),
        lambda g: (g, None),
        lambda g: (None, g),
        lambda g: (),
        lambda g: 1.0,
        lambda g: "text",
        lambda g: g.double(),
        lambda g: g[:1],
        lambda g: g.expand(3, 2, 2),
        lambda g: g.to(lib.int64),
        lambda g: g.to(lib.complex64),
        lambda g: [g],
    ):
        x = lib.ones(2, 2, requires_grad=True)
        log.attempt(lambda result=result, x=x: returning(result).apply(x).sum().backward())
        log(x.grad)


@scenario
def exceptions_of_backward(lib, log):
    class Own(Exception):
        pass

    class Failing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        @lib.autograd.function.once_differentiable
        def backward(ctx, grad):
            raise Own("in backward")

    x = leaf(lib, 1.0, 2.0)
    product = (x + 1) * (x + 1)
    log.attempt(lambda: Failing.apply(product).sum().backward())
    log(x.grad)
    log.attempt(lambda: product.sum().backward())
    log(x.grad)


@scenario
def separate_setup(lib, log):
    class Power(lib.autograd.Function):
        @staticmethod
        def forward(x, shape, scale):
            return x.reshape(shape) ** 2 * scale, x.shape, scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, _, ctx.scale = inputs
            ctx.shape = output[1]
            log(len(inputs), len(output), output[2], x.requires_grad, output[0].requires_grad)
            ctx.save_for_backward(x)

        @staticmethod
        @lib.autograd.function.once_differentiable
        def backward(ctx, grad, *rest):
            log(rest)
            (x,) = ctx.saved_tensors
            return grad.reshape(ctx.shape) * 2 * x * ctx.scale, None, None

    log(Power.generate_vmap_rule, hasattr(Power, "vmap"))
    x = lib.arange(6.0).requires_grad_()
    out, _, _ = Power.apply(x, (2, 3), 5)
    log(out, lib.autograd.grad(out.sum(), x))
    x = lib.tensor(3.0, requires_grad=True)
    log(lib.autograd.grad(Power.apply(x, (), 2)[0], x))


@scenario
def a_gradient_for_what_needs_none(lib, log):
    class Pass(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            log(ctx.needs_input_grad)
            return x, y

        @staticmethod
        def backward(ctx, first, second):
            log(first, second)
            return first, None

    x, y = leaf(lib, 1.0, 2.0), lib.tensor([3.0, 4.0])
    first, second = Pass.apply(x, y)
    log(first.requires_grad, second.requires_grad, second is y)
    first.register_hook(lambda g: log("first", g))
    second.register_hook(lambda g: log("second", g))
    (first + second).sum().backward()
    log(x.grad, y.grad)


@scenario
def output_numbers_in_saved_tensors(lib, log):
    class Halves(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2], x[2:]

        @staticmethod
        def backward(ctx, *grads):
            return lib.cat(grads)

    class Keep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            log(x.output_nr, type(x.grad_fn).__name__)
            return grad * 2

    x = leaf(lib, 1.0, 2.0, 3.0, 4.0)
    first, second = Halves.apply(x)
    log(first.output_nr, second.output_nr, first._is_view(), second._is_view())
    Keep.apply(second).sum().backward()
    log(x.grad)
    first, second = Halves.apply(x)
    log.attempt(lambda: second.mul_(2))
