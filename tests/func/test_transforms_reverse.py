"""`grad`, `grad_and_value` and `vjp`, told the same way by PyTorch and retrograd."""

from __future__ import annotations

import gc
import weakref
from collections import namedtuple
from typing import Any

import pytest

import retrograd
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()
errors = Scenarios()


def vector(torch: Any, *values: float, grad: bool = False) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=grad)


def cubes(x: Any) -> Any:
    return (x**3).sum()


# ------------------------------------------------------------------------------------- results


@scenarios.add
def plain(torch: Any) -> Any:
    return torch.func.grad(cubes)(vector(torch))


@scenarios.add
def float32(torch: Any) -> Any:
    return torch.func.grad_and_value(lambda x: x.sin().sum())(torch.ones(2, 3))


@scenarios.add
def several_arguments(torch: Any) -> Any:
    x, y = vector(torch), vector(torch, 4.0, 5.0, 6.0)

    def product(x: Any, y: Any, scale: float = 2.0) -> Any:
        return (x * y * y).sum() * scale

    grad = torch.func.grad
    return (
        grad(product)(x, y),
        grad(product, argnums=1)(x, y),
        grad(product, argnums=-1)(x, y),
        grad(product, argnums=(1, 0))(x, y),
        grad(product, argnums=(-2,))(x, y),
        grad(product)(x, y, scale=3.0),
        grad(product)(x, y=y),
    )


@scenarios.add
def trees(torch: Any) -> Any:
    def loss(state: Any, x: Any) -> Any:
        return (state["a"] * state["b"][0]).sum() + state["b"][1].sin().sum() * x.sum()

    state = {"a": vector(torch), "b": [vector(torch), vector(torch, 0.5)]}
    return torch.func.grad_and_value(loss, argnums=(0, 1))(state, vector(torch))


@scenarios.add
def named_tuples(torch: Any) -> Any:
    Point = namedtuple("Point", ["x", "y"])
    point = Point(vector(torch), vector(torch, 2.0, 2.0, 2.0))
    found = torch.func.grad(lambda p: (p.x * p.y).sum())(point)
    return type(found).__name__, tuple(found)


@scenarios.add
def aux(torch: Any) -> Any:
    def loss(x: Any) -> Any:
        return cubes(x), {"twice": x * 2, "rest": [x, (x.detach(), torch.ones(2))]}

    return (
        torch.func.grad(loss, has_aux=True)(vector(torch)),
        torch.func.grad_and_value(loss, has_aux=True)(vector(torch, grad=True)),
    )


@scenarios.add
def unused_and_constant(torch: Any) -> Any:
    x = vector(torch)
    return (
        torch.func.grad(lambda x, y: cubes(x), argnums=1)(x, x),
        torch.func.grad(lambda x: torch.tensor(1.0))(x),
        torch.func.grad(lambda x: x.sum().long())(x),
        torch.func.grad(lambda x: x.detach().sum())(x),
        torch.func.grad(lambda x: x)(torch.tensor(2.0)),
    )


@scenarios.add
def complex_input(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, 3 - 1j])
    return torch.func.grad(lambda z: z.abs().sum())(z)


@scenarios.add
def nested(torch: Any) -> Any:
    grad = torch.func.grad
    x = torch.tensor(0.7, dtype=torch.float64)
    return [
        grad(grad(torch.sin))(x),
        grad(grad(grad(torch.sin)))(x),
        grad(lambda x: grad(lambda y: (x * y) ** 2)(x))(x),
        grad(lambda x: x * grad(lambda y: x + y)(torch.ones_like(x)))(x),
        grad(lambda x: x * grad(lambda y: x * y)(torch.ones_like(x)))(x),
        grad(lambda x: grad(lambda y: x * y**2)(torch.ones_like(x)))(x),
        grad(lambda x: grad(lambda y: y**3)(x.detach()) * x)(x),
    ]


@scenarios.add
def captured(torch: Any) -> Any:
    w = vector(torch, grad=True)
    x = vector(torch, 4.0, 5.0, 6.0)
    gradient, value = torch.func.grad_and_value(lambda x: (x * x * w).sum())(x)
    (gradient.sum() * value).backward()
    return gradient, value, w.grad, x.grad


@scenarios.add
def outer_input(torch: Any) -> Any:
    x = vector(torch, grad=True)
    gradient, value = torch.func.grad_and_value(cubes)(x)
    (gradient.sum() + value).backward()
    return gradient, value, x.grad


@scenarios.add
def outer_history(torch: Any) -> Any:
    x = vector(torch, grad=True)
    y = x * 2
    gradient = torch.func.grad(cubes)(y)
    return gradient, torch.autograd.grad(gradient.sum(), [x, y])


@scenarios.add
def nothing_leaks(torch: Any) -> Any:
    x, z = vector(torch), vector(torch, 1.5, 2.5, 3.5)

    def inner(x: Any) -> Any:
        return torch.func.grad(lambda y: (x * y**2).sum())(z).sum()

    gradient, value = torch.func.grad_and_value(inner)(x)
    return gradient, value, x, z


@scenarios.add
def modes_outside(torch: Any) -> Any:
    x = vector(torch, grad=True)
    w = vector(torch, grad=True)
    with torch.no_grad():
        found = torch.func.grad_and_value(lambda x: (x * w).sin().sum())(x)
        twice = torch.func.grad(lambda x: torch.func.grad(cubes)(x).sum())(x)
    with torch.inference_mode():
        quiet = torch.func.grad(cubes)(vector(torch))
        also = torch.func.grad(cubes)(x)
    return found, twice, quiet, also, quiet.is_inference(), also.is_inference()


@scenarios.add
def modes_inside(torch: Any) -> Any:
    def partly(x: Any) -> Any:
        with torch.no_grad():
            constant = x**2
        return (x - constant).sum() + constant.requires_grad

    def hidden(x: Any) -> Any:
        with torch.no_grad():
            inner = torch.func.grad(cubes)(x)
        return (inner * x).sum() + inner.requires_grad

    x = vector(torch)
    return [torch.func.grad(f)(x) for f in (partly, hidden)] + [
        torch.func.grad(f)(vector(torch, grad=True)) for f in (partly, hidden)
    ]


@scenarios.add
def no_grad_around_vjp_only(torch: Any) -> Any:
    x = vector(torch, grad=True)
    with torch.no_grad():
        value, pull = torch.func.vjp(lambda x: x**2, x)
    [product] = pull(vector(torch))
    return value, product, torch.autograd.grad(product.sum(), x)


@scenarios.add
def inference_mode(torch: Any) -> Any:
    func = torch.func
    x, rows = vector(torch), torch.ones(2, 3)

    def partly(x: Any) -> Any:
        with torch.inference_mode():
            constant = x**2
        return (x - constant).sum()

    with torch.inference_mode():
        made = vector(torch)
        value, pull = func.vjp(cubes, x)
        found = [
            func.grad(cubes)(x),
            func.grad(cubes)(made),
            pull(torch.tensor(1.0, dtype=torch.float64)),
            func.jvp(cubes, (x,), (x,)),
            func.jacrev(lambda x: x**2)(x),
            func.jacfwd(lambda x: x**2)(x),
            func.vmap(func.grad(cubes))(rows),
            func.grad(lambda x: func.vmap(lambda x: x**2)(x).sum())(x),
            func.jacrev(func.grad(cubes))(x),
            func.grad(partly)(x),
            torch.is_inference_mode_enabled(),
        ]
    return [value, *found, torch.is_inference_mode_enabled()]


@scenarios.add
def facts_inside(torch: Any) -> Any:
    seen = []

    def look(x: Any, y: Any) -> Any:
        seen.append((x.requires_grad, y.requires_grad, torch.is_grad_enabled(), x.shape))
        return x.sum()

    x = vector(torch)
    torch.func.grad(look)(x, x)
    with torch.no_grad():
        torch.func.grad(look)(x, x)
    return seen, x.requires_grad, torch.is_grad_enabled()


@scenarios.add
def in_place_inside(torch: Any) -> Any:
    def written(x: Any) -> Any:
        y = x.clone()
        y.mul_(x)
        y[0] = x[1] * 3
        y[1:].add_(x[:-1])
        return (y * x).sum()

    x = vector(torch)
    return (
        torch.func.grad(written)(x),
        torch.func.grad(lambda x: torch.func.grad(written)(x).sin().sum())(x),
        x,
    )


@scenarios.add
def in_place_on_arguments(torch: Any) -> Any:
    def write(x: Any, y: Any) -> Any:
        y.mul_(x)
        return (x * y).sum()

    y = vector(torch)
    gradient = torch.func.grad(write)(vector(torch), y)
    outer = vector(torch, 3.0, 4.0, 5.0, grad=True)
    later = vector(torch)
    second = torch.func.grad(write)(outer, later)
    (later.sum() + second.sum()).backward()
    return gradient, y, second, later, outer.grad


@scenarios.add
def autograd_grad_inside(torch: Any) -> Any:
    def twice(x: Any) -> Any:
        [inner] = torch.autograd.grad(cubes(x), x, create_graph=True)
        return (inner * x).sum()

    def once(x: Any) -> Any:
        return torch.autograd.grad(cubes(x), x)[0].sum()

    x = vector(torch)
    return torch.func.grad(twice)(x), torch.func.grad(once)(x)


@scenarios.add
def wrapped_names(torch: Any) -> Any:
    def loss(x: Any) -> Any:
        """A loss."""
        return cubes(x)

    made = torch.func.grad(loss), torch.func.grad_and_value(loss), torch.func.jacrev(loss)
    return [(f.__name__, f.__doc__) for f in (*made, torch.func.jacfwd(loss))]


@scenarios.add
def leaf_hooks_inside(torch: Any) -> Any:
    seen = []

    def hooked(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda gradient: gradient * 10)
        x.register_hook(lambda gradient: seen.append(gradient.shape))
        return (y * y).sum()

    return torch.func.grad(hooked)(vector(torch)), seen


# ----------------------------------------------------------------------------------------- vjp


@scenarios.add
def vjp_of_one(torch: Any) -> Any:
    x = vector(torch)
    value, pull = torch.func.vjp(torch.sin, x)
    return value, pull(torch.ones_like(x)), pull(x), pull(x, retain_graph=False)


@scenarios.add
def vjp_of_trees(torch: Any) -> Any:
    def both(x: Any, y: Any) -> Any:
        return {"product": x * y["deep"], "rest": (x.sum(), [y["deep"] ** 2])}

    x, y = vector(torch), {"deep": vector(torch, 4.0, 5.0, 6.0)}
    value, pull = torch.func.vjp(both, x, y)
    cotangents = {"product": x, "rest": (x.sum(), [x])}
    return value, pull(cotangents)


@scenarios.add
def vjp_with_aux(torch: Any) -> Any:
    value, pull, aux = torch.func.vjp(lambda x: (x**2, [x * 3, x]), vector(torch), has_aux=True)
    return value, pull(value), aux


@scenarios.add
def vjp_history(torch: Any) -> Any:
    x = vector(torch, grad=True)
    v = vector(torch, grad=True)
    value, pull = torch.func.vjp(lambda x: x**3, x)
    [product] = pull(v)
    product.sum().backward(retain_graph=True)
    first = x.grad.clone(), v.grad.clone()
    value.sum().backward(retain_graph=True)
    with torch.no_grad():
        [quiet] = pull(v)
    [forced] = pull(v, create_graph=False)
    return value, product, first, x.grad, quiet, forced


@scenarios.add
def vjp_of_constants(torch: Any) -> Any:
    x = vector(torch)
    value, pull = torch.func.vjp(lambda x: (torch.ones(2), x * 2), x)
    other, same = torch.func.vjp(lambda x: x, x)
    return value, pull((torch.ones(2), x)), other, same(x), torch.func.vjp(lambda: x)[1](x)


@scenarios.add
def vjp_survives_writes(torch: Any) -> Any:
    x = vector(torch, grad=True)
    value, pull = torch.func.vjp(lambda x: x * 2 + 1, x * 1)
    value.mul_(5)
    return pull(vector(torch))


@scenarios.add
def vjp_of_vjp(torch: Any) -> Any:
    x = vector(torch)

    def first(x: Any, v: Any) -> Any:
        return torch.func.vjp(lambda x: x**3, x)[1](v)[0]

    value, pull = torch.func.vjp(first, x, vector(torch, 2.0, 3.0, 4.0))
    return value, pull(torch.ones_like(x))


@scenarios.add
def vjp_dtype(torch: Any) -> Any:
    x = torch.ones(3)
    return torch.func.vjp(lambda x: x * 2, x)[1](torch.ones(3, dtype=torch.float64))


# ------------------------------------------------------------------------------ custom Functions


@scenarios.add
def custom_function(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            [x] = ctx.saved_tensors
            return gradient * 3 * x**2 + 0 * x

    x = vector(torch)

    def loss(x: Any) -> Any:
        return Cube.apply(x).sum()

    return (
        torch.func.grad(loss)(x),
        torch.func.grad(lambda x: torch.func.grad(loss)(x).sum())(x),
        torch.func.grad(loss)(vector(torch, grad=True)),
    )


# -------------------------------------------------------------------------------------- errors


def error(function: Any) -> None:
    """Add a scenario that ends with an error: ``function(torch, func, x)``."""

    def scenario(torch: Any) -> Any:
        return function(torch, torch.func, vector(torch))

    scenario.__name__ = f"error_{len(errors)}"
    errors.append(scenario)


error(lambda torch, func, x: func.grad(lambda x: x)(x))
error(lambda torch, func, x: func.grad(lambda x: x[:1])(x))
error(lambda torch, func, x: func.grad(lambda x: None)(x))
error(lambda torch, func, x: func.grad(lambda x: (x.sum(), x))(x))
error(lambda torch, func, x: func.grad(lambda x: 1.0)(x))
error(lambda torch, func, x: func.grad_and_value(lambda x: x)(x))
error(lambda torch, func, x: func.grad(lambda x: x * 2)(1.0))
error(lambda torch, func, x: func.grad(lambda x, y: x.sum(), argnums=1)(x, 1.0))
error(lambda torch, func, x: func.grad(lambda x: x["a"].sum())({"a": x, "b": "text"}))
error(lambda torch, func, x: func.grad(lambda x: x.sum())(x.long()))
error(lambda torch, func, x: func.grad(lambda x: x.sum() * 1j)(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=1)(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=-2)(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=())(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=(0, 0))(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=(0, -1))(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=[0])(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=(0.0,))(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), argnums=None)(x))
error(lambda torch, func, x: func.grad(lambda x: x.sum(), has_aux=True)(x))
error(lambda torch, func, x: func.grad(lambda x: [x.sum(), x], has_aux=True)(x))
error(lambda torch, func, x: func.grad(lambda x: (x.sum(), 1), has_aux=True)(x))
error(lambda torch, func, x: func.grad(lambda x: (x.sum(), None), has_aux=True)(x))
error(lambda torch, func, x: func.grad(lambda x: x.mul_(2).sum())(x))
error(lambda torch, func, x: func.grad(lambda x: x.mul_(2).sum())(x.requires_grad_()))
error(lambda torch, func, x: func.grad(lambda x: x.mul_(2).sum())(x.requires_grad_() * 1))
error(lambda torch, func, x: func.grad(lambda x: x[0].mul_(2).sum())(x))
error(lambda torch, func, x: func.grad(lambda x: x[0].mul_(2).sum())(x.requires_grad_()))
error(lambda torch, func, x: func.grad(lambda x: x.sum().backward())(x))
error(lambda torch, func, x: func.vjp(lambda x: torch.autograd.backward(x.sum()), x))
error(lambda torch, func, x: func.grad(lambda x: (x * 1).requires_grad_().sum())(x))
error(lambda torch, func, x: func.grad(lambda x: (x * 1).requires_grad_(False).sum())(x))
error(
    lambda torch, func, x: func.grad(lambda x: torch.autograd.functional.jacobian(cubes, x).sum())(
        x
    )
)
error(lambda torch, func, x: func.vjp(lambda x: None, x))
error(lambda torch, func, x: func.vjp(lambda x: (), x))
error(lambda torch, func, x: func.vjp(lambda x: 1.0, x))
error(lambda torch, func, x: func.vjp(lambda x: (x, 1.0), x))
error(lambda torch, func, x: func.vjp(lambda x: x.long(), x))
error(lambda torch, func, x: func.vjp(lambda x: x, 2.0))
error(lambda torch, func, x: func.vjp(lambda x: x, x, has_aux=True))
error(lambda torch, func, x: func.vjp(lambda x: (x, "text"), x, has_aux=True))
error(lambda torch, func, x: func.vjp(lambda x: (x, x), x)[1](x))
error(lambda torch, func, x: func.vjp(lambda x: {"a": [x]}, x)[1]([x, (x,)]))
error(lambda torch, func, x: func.vjp(lambda x: x * 2, x)[1](torch.ones(2)))
error(lambda torch, func, x: func.vjp(lambda x: x * 2, x)[1](1.0))


@errors.add
def saved_tensor_hooks(torch: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return torch.func.jacrev(cubes)(vector(torch))


@errors.add
def retained_inside(torch: Any) -> Any:
    def retained(x: Any) -> Any:
        y = x * 2
        y.retain_grad()
        return y.sum()

    return torch.func.grad(retained)(vector(torch))


@errors.add
def old_functions_inside(torch: Any) -> Any:
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    return torch.func.grad(lambda x: Old.apply(x).sum())(vector(torch))


@errors.add
def captured_and_written(torch: Any) -> Any:
    captured = vector(torch)

    def write(x: Any) -> Any:
        captured.copy_(x)
        return (x * captured).sum()

    return torch.func.grad(write)(vector(torch))


@errors.add
def saved_tensor_hooks_inside(torch: Any) -> Any:
    def hooked(x: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return cubes(x)

    return torch.func.grad(hooked)(vector(torch))


@pytest.mark.parametrize(**scenarios.cases())
def test_scenario(scenario: Any) -> None:
    assert_same(torch, scenario)


@pytest.mark.parametrize(**errors.cases())
def test_error(scenario: Any) -> None:
    assert_same(torch, scenario)


def test_state_after_an_error() -> None:
    """A failed transform leaves all modes as they were."""
    from retrograd.engine.state import STATE

    def fail(x: Any) -> Any:
        raise KeyError("mine")

    with retrograd.no_grad(), pytest.raises(KeyError, match="mine"):
        retrograd.func.grad(fail)(retrograd.ones(2))
    assert STATE.grad_enabled and STATE.transforms == 0 and STATE.saved_hooks_refused is None
    assert (retrograd.ones(2).requires_grad_() * 2).requires_grad


def test_the_graph_goes_with_its_last_user() -> None:
    """Nothing of a transform stays alive once its results are settled."""
    gc.disable()
    try:
        alive = []

        def loss(x: Any) -> Any:
            hidden = x.exp()
            alive.append(weakref.ref(hidden))
            return hidden.sum()

        x = retrograd.ones(3)
        gradient, value = retrograd.func.grad_and_value(loss)(x)
        value, pull = retrograd.func.vjp(loss, x)
        del pull
        assert [reference() for reference in alive] == [None, None]
        assert gradient.grad_fn is None and value.grad_fn is None
    finally:
        gc.enable()
