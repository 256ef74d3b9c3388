"""Custom Functions under vmap, against PyTorch: own rules, generated rules, and wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES = Scenarios()


def sine(t: Any) -> Any:
    """A Function with a generated rule and both modes of differentiation."""

    class Sine(t.autograd.Function):  # type: ignore[misc,name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * ctx.saved_tensors[0].cos()

    return Sine.apply


def product(t: Any, *, generate: bool) -> Any:
    """A Function of two tensors and a number with two outputs, one without a gradient."""

    class Product(t.autograd.Function):  # type: ignore[misc,name-defined]
        generate_vmap_rule = generate

        @staticmethod
        def forward(x: Any, y: Any, factor: Any) -> Any:
            return x * y * factor, x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], inputs[1])
            ctx.factor = inputs[2]
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y * ctx.factor, g * x * ctx.factor, None

    if not generate:

        def rule(info: Any, in_dims: Any, x: Any, y: Any, factor: Any) -> Any:
            assert info.batch_size == 3 and info.randomness == "error"
            first, second, third = in_dims
            assert third is None
            x = x if first is None else x.movedim(first, 0)
            y = y if second is None else y.movedim(second, 0)
            return Product.apply(x, y, factor), (0, 0)

        Product.vmap = staticmethod(rule)  # type: ignore[assignment]
    return Product.apply


def rows(t: Any) -> Any:
    """Three examples of two numbers."""
    return t.arange(6.0).reshape(3, 2) / 3


def pair(t: Any) -> Any:
    """Two numbers that are not batched."""
    return t.tensor([2.0, 3.0])


@CASES.add
def one_level(t: Any) -> Any:
    f, x = sine(t), rows(t)
    return t.vmap(f)(x), t.vmap(f, 1, 1)(x), t.vmap(t.vmap(f))(x), t.vmap(lambda a: f(pair(t)))(x)


@CASES.add
def gradient_in_vmap(t: Any) -> Any:
    f, x = sine(t), rows(t)
    return t.vmap(t.func.grad(lambda a: f(a).sum()))(x), t.vmap(t.vmap(t.func.grad(f)))(x)


@CASES.add
def gradient_of_vmap(t: Any) -> Any:
    f = sine(t)
    x = rows(t).requires_grad_()
    t.vmap(f)(x).sum().backward()
    return x.grad, t.func.grad(lambda a: t.vmap(f, in_dims=1)(a).sum())(rows(t))


@CASES.add
def gradients_of_both(t: Any) -> Any:
    f = sine(t)
    inner = t.vmap(t.func.grad(lambda b: f(b).sum()))
    return t.func.grad(lambda a: inner(a).sum())(rows(t))


@CASES.add
def forward_mode(t: Any) -> Any:
    f, x = sine(t), rows(t)
    outer = t.func.jvp(t.vmap(f), (x,), (t.ones_like(x),))
    return outer, t.vmap(lambda a: t.func.jvp(f, (a,), (t.ones_like(a),)))(x)


def _products(generate: bool) -> None:
    def scenario(t: Any) -> Any:
        f, x, w = product(t, generate=generate), rows(t), pair(t)
        each = t.vmap(lambda a, b: f(a, b, 2.0), in_dims=(0, None))
        inner = t.vmap(
            t.func.grad(lambda a, b: f(a, b, 2.0)[0].sum(), argnums=(0, 1)), in_dims=(0, None)
        )
        outer = t.func.grad(lambda a, b: each(a, b)[0].sum(), argnums=(0, 1))
        closed = t.func.grad(
            lambda b: t.vmap(t.func.grad(lambda a: f(a, b, 2.0)[0].pow(2).sum()))(x).sum()
        )
        return each(x, w), inner(x, w), outer(x, w), closed(w)

    scenario.__name__ = "generated_product" if generate else "product_with_a_rule"
    CASES.add(scenario)


_products(True)
_products(False)


@CASES.add
def gradient_of_an_expanded_shape(t: Any) -> Any:
    class Spread(t.autograd.Function):  # type: ignore[misc,name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = t.ones(3, 1), rows(t)
    total = lambda a, b: t.vmap(Spread.apply)(a, b).sum()  # noqa: E731
    return t.func.grad(total, argnums=(0, 1))(x, y)


def _plain(t: Any, **more: Any) -> Any:
    space = {
        "forward": staticmethod(lambda x: x * 2),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
        "backward": staticmethod(lambda ctx, g: g * 2),
    }
    return type("Plain", (t.autograd.Function,), {**space, **more})


@CASES.add
def no_rule(t: Any) -> Any:
    return t.vmap(_plain(t).apply)(rows(t))


@CASES.add
def two_rules(t: Any) -> Any:
    rule = staticmethod(lambda info, in_dims, x: (x, in_dims[0]))
    return t.vmap(_plain(t, generate_vmap_rule=True, vmap=rule).apply)(rows(t))


@CASES.add
def rule_without_dimensions(t: Any) -> Any:
    return t.vmap(_plain(t, vmap=staticmethod(lambda info, in_dims, x: x)).apply)(rows(t))


@CASES.add
def rule_with_three_results(t: Any) -> Any:
    return t.vmap(_plain(t, vmap=staticmethod(lambda info, in_dims, x: (x, 0, 0))).apply)(rows(t))


@CASES.add
def rule_with_wrong_dimensions(t: Any) -> Any:
    return t.vmap(_plain(t, vmap=staticmethod(lambda info, in_dims, x: (x, (0, 0)))).apply)(rows(t))


@CASES.add
def rule_for_what_is_not_batched(t: Any) -> Any:
    rule = staticmethod(lambda info, in_dims, x: (x * 3, None))
    return t.vmap(_plain(t, vmap=rule).apply, out_dims=None)(rows(t))


@CASES.add
def old_style(t: Any) -> Any:
    space = {
        "forward": staticmethod(lambda ctx, x: x * 2),
        "backward": staticmethod(lambda ctx, g: g * 2),
    }
    return t.vmap(type("Old", (t.autograd.Function,), space).apply)(rows(t))


@pytest.mark.parametrize(**CASES.cases())
def test_function(scenario: Any) -> None:
    assert_same(torch, scenario)
