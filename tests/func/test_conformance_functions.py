"""Custom Functions under all transforms, where PyTorch's own tests look."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.func.attempts import each, numbers, tried
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()


def cube(torch: Any, *, generate: bool, own: bool) -> Any:
    """A Function of two outputs, with one of the ways to be batched."""

    class Cube(torch.autograd.Function):
        generate_vmap_rule = generate

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], output[1])
            ctx.save_for_forward(inputs[0], output[1])

        @staticmethod
        def backward(ctx: Any, gradient: Any, of_slope: Any) -> Any:
            x, slope = ctx.saved_tensors
            return gradient * slope + 6 * x * of_slope

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            x, slope = ctx.saved_tensors
            return tangent * slope, 6 * x * tangent

    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        return Cube.apply(x), (in_dims[0], in_dims[0])

    if own:
        Cube.vmap = staticmethod(rule)
    return Cube


@scenarios.add
def one_function_under_all_transforms(torch: Any) -> Any:
    f, x, batch = torch.func, numbers(torch, 3), numbers(torch, 2, 3)
    found = []
    for generate, own in ((True, False), (False, True)):
        function = cube(torch, generate=generate, own=own).apply

        def first(x: Any, function: Any = function) -> Any:
            return function(x)[0]

        def total(x: Any, function: Any = function) -> Any:
            return sum(function(x)).sum()

        found += [
            f.grad(total)(x),
            f.grad(lambda x, g=total: f.grad(g)(x).sum())(x),
            f.hessian(total)(x),
            f.jacrev(first)(x),
            f.jacfwd(first)(x),
            f.jacrev(f.jacrev(first))(x),
            f.jvp(function, (x,), (x,)),
            f.jvp(f.grad(total), (x,), (x,)),
            f.vmap(first)(x),
            f.vmap(f.vmap(function))(batch),
            f.vmap(f.grad(total))(batch),
            f.vmap(f.jacrev(first))(batch),
            f.vmap(lambda x, g=function: f.jvp(g, (x,), (x,)))(batch),
            f.grad(lambda x, g=first: f.vmap(g)(x).sum())(x),
            f.jvp(f.vmap(first), (batch,), (batch,)),
            f.vmap(first, in_dims=1, out_dims=1)(batch),
            f.vmap(first, chunk_size=2)(x),
        ]
    return found


@scenarios.add
def without_a_rule_for_batches(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 3)
    function = cube(torch, generate=False, own=False).apply

    def first(x: Any) -> Any:
        return function(x)[0]

    return f.grad(lambda x: first(x).sum())(x), tried(
        lambda: f.vmap(first)(x),
        lambda: f.jvp(first, (x,), (x,)),
        lambda: f.jacrev(first)(x),
        lambda: f.vmap(cube(torch, generate=True, own=True).apply)(x),
    )


@scenarios.add
def functions_without_setup_context(torch: Any) -> Any:
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * ctx.saved_tensors[0].cos()

    f, x = torch.func, numbers(torch, 3)
    ways = [f.vmap, f.grad, f.jacrev, f.jacfwd, f.grad_and_value, f.hessian]
    return each(of=ways, by=lambda way: way(Sine.apply)(x)), tried(
        lambda: f.vjp(Sine.apply, x), lambda: f.jvp(Sine.apply, (x,), (x,)), lambda: Sine.apply(x)
    )


@scenarios.add
def what_backward_is_told(torch: Any) -> Any:
    told: list[Any] = []

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x.clone(), y.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            told.append((first is None, second is None, ctx.needs_input_grad))
            return first, second

    def function(y: Any, x: Any) -> Any:
        return Pair.apply(x, y)[0] ** 2

    f, x, y = torch.func, torch.tensor(2.0), torch.tensor(3.0)
    found = [
        f.grad(function)(y, x),
        f.grad(function, argnums=1)(y, x),
        f.grad(function, argnums=(0, 1))(y, x),
        f.grad(f.grad(function, argnums=1), argnums=1)(y, x),
    ]
    return found, told


@scenarios.add
def inputs_returned_as_they_are(torch: Any) -> Any:
    f = torch.func
    found = []
    for keep, what, dirty in product(("forward", "backward"), ("input", "output", ""), (0, 1)):

        class Same(torch.autograd.Function):
            options = (keep, what, dirty)

            @staticmethod
            def forward(x: Any) -> Any:
                return x

            @classmethod
            def setup_context(cls, ctx: Any, inputs: Any, output: Any) -> None:
                keep, what, dirty = cls.options
                if dirty:
                    ctx.mark_dirty(inputs[0])
                if what:
                    kept = inputs[0] if what == "input" else output
                    getattr(ctx, f"save_for_{keep}")(kept)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient

            @classmethod
            def jvp(cls, ctx: Any, tangent: Any) -> Any:
                return tangent.add_(0) if cls.options[2] else tangent.view_as(tangent)

        def called(x: Any, same: Any = Same) -> Any:
            return same.apply(x.clone())

        for flag in (True, False):
            x, t = (torch.tensor(2.0, requires_grad=flag) for _ in range(2))
            found.append(
                tried(
                    lambda g=called, x=x: f.grad(g)(x),
                    lambda g=called, x=x, t=t: f.jvp(g, (x,), (t,)),
                )
            )
    return found


@scenarios.add
def rules_that_return_the_wrong_thing(torch: Any) -> Any:
    batch = numbers(torch, 2, 3)

    def zeros(x: Any) -> Any:
        return torch.zeros(x.shape[1:])

    def with_rule(rule: Any) -> Any:
        class Zeros(torch.autograd.Function):
            vmap = staticmethod(rule)

            @staticmethod
            def forward(x: Any) -> Any:
                return torch.zeros(x.shape)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

        return torch.func.vmap(Zeros.apply)(batch)

    rules = [
        lambda info, in_dims, x: (zeros(x), None),
        lambda info, in_dims, x: ((zeros(x), zeros(x)), None),
        lambda info, in_dims, x: (x * 2, 0),
        lambda info, in_dims, x: zeros(x),
        lambda info, in_dims, x: (zeros(x), zeros(x), 0, 0),
        lambda info, in_dims, x: (zeros(x), (None,)),
        lambda info, in_dims, x: ([zeros(x)], (None,)),
    ]
    return each(of=rules, by=with_rule)


@scenarios.add
def what_a_rule_is_told(torch: Any) -> Any:
    told: list[Any] = []

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            raise AssertionError("the rule is called in its place")

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            told.append((info.batch_size, info.randomness, in_dims))
            return (x, y), in_dims

    vmap, x = torch.func.vmap, numbers(torch, 2)
    found = [vmap(Same.apply, randomness=way)(x, [x, x]) for way in ("error", "same", "different")]
    found += [
        vmap(Same.apply, in_dims=(0, None))(x, x),
        vmap(Same.apply, in_dims=(1, {"a": 0}))(numbers(torch, 3, 2), {"a": x}),
    ]
    return found, told


@scenarios.add
def tensors_by_keyword(torch: Any) -> Any:
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, *, y: Any) -> Any:
            return x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, *, y: Any) -> Any:
            return x + y, 0

    return tried(lambda: torch.func.vmap(Sum.apply)(torch.ones(2), y=torch.ones(2)))


@scenarios.add
def gradients_of_broadcast_inputs(torch: Any) -> Any:
    class Product(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            x, y = ctx.saved_tensors
            return (gradient * y).sum_to_size(x.shape), (gradient * x).sum_to_size(y.shape)

    f, x, y = torch.func, numbers(torch, 4, 3), numbers(torch, 3, seed=1)
    one, other = x.clone().requires_grad_(), y.clone().requires_grad_()
    f.vmap(Product.apply, (0, None))(one, other).sum().backward()
    each_own = f.vmap(f.grad(lambda y, x: Product.apply(x, y).sum()), (None, 0))(y, x)
    return one.grad, other.grad, each_own


@scenarios.add
def outputs_without_gradient(torch: Any) -> Any:
    class Best(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin(), x.argmax()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, gradient: Any, _: Any) -> Any:
            return gradient * ctx.saved_tensors[0].cos()

    f, x, batch = torch.func, numbers(torch, 3), numbers(torch, 2, 3)

    def with_place(x: Any) -> Any:
        value, place = Best.apply(x)
        return value.sum(), place

    return [
        f.vmap(Best.apply)(batch),
        f.grad(with_place, has_aux=True)(x),
        f.vmap(f.grad(with_place, has_aux=True))(batch),
        f.jacrev(lambda x: Best.apply(x)[0])(x),
    ]


@scenarios.add
def functions_that_lack_a_derivative(torch: Any) -> Any:
    class Backward(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 2

    f, x = torch.func, numbers(torch, 3)

    def differentiated_again() -> None:
        y, v = (torch.tensor(2.0, requires_grad=True) for _ in range(2))
        f.vjp(Backward.apply, y)[1](v)[0].backward()

    return tried(
        lambda: f.grad(lambda x: Backward.apply(x).sum())(x),
        lambda: f.jvp(Backward.apply, (x,), (x,)),
        differentiated_again,
        lambda: f.jvp(Forward.apply, (x,), (x,)),
        lambda: f.grad(lambda x: Forward.apply(x).sum())(x),
        lambda: f.jacrev(Forward.apply)(x),
    )


@pytest.mark.parametrize(**scenarios.cases())
def test_like_pytorch(scenario: Any) -> None:
    assert_same(torch, scenario)
