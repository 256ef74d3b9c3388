"""`grad` and `vjp` where PyTorch's own tests look: writes, modes, arguments, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.func.attempts import attempt, each, numbers, tried
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()


def transforms(torch: Any) -> list[Any]:
    f = torch.func
    return [f.grad, f.grad_and_value, f.jacrev, f.jacfwd, f.hessian]


# -------------------------------------------------------------------------------------- writes


@scenarios.add
def writes_to_own_tensors(torch: Any) -> Any:
    def view(x: Any) -> Any:
        y = x.clone()
        y[0].sin_()
        return y.sum()

    def base(x: Any) -> Any:
        y = x.clone()
        first = y[0]
        y.sin_()
        return first

    def mask(x: Any) -> Any:
        y = x.clone()
        y[y > 0] = 0
        return y.sum()

    def new(x: Any) -> Any:
        y = torch.ones(())
        y[torch.zeros(()) > 0] = 0
        return x.sum() * y

    def after_linear(x: Any) -> Any:
        weight = torch.ones(2, 3, dtype=x.dtype)
        return torch.nn.functional.linear(x, weight).relu_().sum()

    functions = [view, base, mask, new, after_linear]
    return each(of=functions, by=lambda f: torch.func.grad(f)(numbers(torch, 3)))


@scenarios.add
def writes_to_inputs(torch: Any) -> Any:
    def elements(x: Any) -> Any:
        x.sin_()
        return x.sum()

    def one(x: Any) -> Any:
        x[0] = 2.0
        return x.sum()

    def through_view(x: Any) -> Any:
        x.view(-1).add_(1)
        return (x * x).sum()

    def called(function: Any, transform: Any, *shape: int) -> Any:
        x = numbers(torch, *shape)
        return attempt(lambda: transform(function, x)), x, x._version

    f = torch.func
    found = []
    for function in (elements, one, through_view):
        found += [
            called(function, lambda g, x: f.grad(g)(x), 3),
            called(function, lambda g, x: f.vjp(g, x)[0], 3),
            called(function, lambda g, x: f.jvp(g, (x,), (x.clone(),)), 3),
            called(function, lambda g, x: f.jacrev(g)(x), 3),
            called(function, lambda g, x: f.jacfwd(g)(x), 3),
            called(function, lambda g, x: f.vmap(g)(x), 2, 3),
            called(function, lambda g, x: f.vmap(f.grad(g))(x), 2, 3),
        ]
    return found


class _Counter:
    """A module that writes its buffer, for one library."""

    def __new__(cls, torch: Any) -> Any:
        class Counter(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("seen", torch.zeros(3))

            def forward(self, x: Any) -> Any:
                self.seen.add_(x)
                return (x * self.seen).sum()

        return Counter()


@scenarios.add
def writes_to_captured_tensors(torch: Any) -> Any:
    f = torch.func
    x, captured, held = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3), [torch.ones(3)]
    module = _Counter(torch)

    def whole(x: Any) -> Any:
        captured.copy_(x)
        return (x * captured).sum()

    def part(x: Any) -> Any:
        captured[0] = x[0]
        return (x * captured).sum()

    def number(x: Any) -> Any:
        captured.add_(1)
        return (x * captured).sum()

    def in_list(x: Any) -> Any:
        held[0].copy_(x)
        return (x * held[0]).sum()

    def in_call(x: Any) -> Any:
        return in_list(x) * 2

    found = each(
        of=[whole, part, number, in_list, in_call, module, lambda x: module(x)],
        by=lambda function: f.grad(function)(x),
    )
    found += tried(
        lambda: f.vjp(whole, x)[0],
        lambda: f.jvp(whole, (x,), (x,)),
        lambda: f.jvp(in_list, (x,), (x,)),
        lambda: f.jacrev(whole)(x),
        lambda: f.jacfwd(whole)(x),
        lambda: f.vmap(whole)(torch.ones(2, 3)),
    )
    return found, captured.requires_grad, held[0].requires_grad, module.seen.requires_grad


# --------------------------------------------------------------------------------------- modes


@scenarios.add
def no_grad_inside(torch: Any) -> Any:
    grad = torch.func.grad

    def shifted(x: Any) -> Any:
        with torch.no_grad():
            shift = x**3
        return x**3 - shift

    def nested(x: Any) -> Any:
        first = grad(shifted)(x)
        with torch.no_grad():
            second = grad(shifted)(x)
            _, value = torch.func.grad_and_value(shifted)(x)
        return first - second - value

    x = torch.tensor(1.5, requires_grad=True)
    y, z = grad(shifted)(x), grad(nested)(x)
    with torch.no_grad():
        w = grad(shifted)(x)
    return y, z, w, torch.autograd.grad(y, x), torch.autograd.grad(z, x)


@scenarios.add
def no_grad_around_vjp_or_its_function(torch: Any) -> Any:
    x, one = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0)
    with torch.no_grad():
        first, pull = torch.func.vjp(torch.square, x)
        inside = pull(one)
    outside = pull(one)
    second, pull = torch.func.vjp(torch.square, x)
    with torch.no_grad():
        alone = pull(one)
    return first, inside, outside, second, alone, torch.autograd.grad(outside, x)


@scenarios.add
def inference_mode_around(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 3)

    def less_square(x: Any) -> Any:
        with torch.inference_mode():
            square = x**2
        return (x - square).sum()

    def cubes(x: Any) -> Any:
        return (x**3).sum()

    with torch.inference_mode():
        y = x * 2
        found = [
            f.grad(cubes)(x),
            f.grad(cubes)(y),
            f.grad(less_square)(x),
            f.vjp(cubes, x)[1](torch.tensor(1.0, dtype=torch.float64)),
            f.jvp(cubes, (x,), (x,)),
            f.jacrev(torch.sin)(x),
            f.jacfwd(torch.sin)(x),
            f.hessian(cubes)(x),
            f.vmap(f.grad(torch.sin))(x),
            f.grad(lambda x: f.vmap(torch.sin)(x).sum())(x),
            torch.is_inference_mode_enabled(),
        ]
    made = [value.is_inference() for value in found if isinstance(value, torch.Tensor)]
    later = tried(
        lambda: f.grad(cubes)(y),
        lambda: f.jvp(torch.sin, (y,), (y,)),
        lambda: f.vmap(torch.sin)(y),
        lambda: f.jacrev(torch.sin)(y),
        lambda: f.jacfwd(torch.sin)(y),
    )
    return found, made, later


@scenarios.add
def exceptions_leave_no_trace(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 3)

    def failing(x: Any) -> Any:
        with torch.no_grad():
            raise ValueError("no")

    found = each(of=[*transforms(torch), f.vmap], by=lambda transform: transform(failing)(x))
    found += tried(
        lambda: f.vjp(failing, x),
        lambda: f.jvp(failing, (x,), (x,)),
        lambda: f.linearize(failing, x),
        lambda: f.vmap(f.grad(failing))(x),
        lambda: f.grad(lambda x: f.vmap(failing)(x))(x),
    )
    y = x.clone().requires_grad_()
    (y * y).sum().backward()
    return found, y.grad, torch.is_grad_enabled(), f.vmap(f.grad(torch.sin))(x)


# ----------------------------------------------------------------------- arguments and results


@scenarios.add
def argnums(torch: Any) -> Any:
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    good = [
        transform(torch.mul, argnums=where)(x, y)
        for where in (0, 1, (0,), (1, 0))
        for transform in transforms(torch)
    ]
    wrong: list[Any] = [-3, 2, [0], ("0",), (0, 0), (0, -2), (), 0.0, ((0, 1),), (1, 0.0), "0"]
    refused = [
        each(of=wrong, by=lambda where, t=transform: t(torch.mul, argnums=where)(x, y))
        for transform in transforms(torch)
    ]
    return good, refused, torch.func.grad(torch.mul, argnums=(-2, -1))(x, y)


@scenarios.add
def auxiliary_outputs(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 3)
    functions = [
        lambda t: [t, t],
        lambda t: (t, t, t),
        lambda t: t,
        lambda t: (t.sum(), 1),
        lambda t: (t.sum(), "text"),
        lambda t: (t.sum(), [t, 1.0]),
        lambda t: (t.sum(), None),
        lambda t: (t.sum(), ()),
        lambda t: (t.sum(), {"a": t.cos(), "b": [t.tan()]}),
    ]
    found = [
        each(of=functions, by=lambda g, t=transform: t(g, has_aux=True)(x))
        for transform in (f.grad, f.grad_and_value, f.jacrev, f.jacfwd)
    ]
    found.append(each(of=functions, by=lambda g: f.vjp(g, x, has_aux=True)[::2]))
    found.append(each(of=functions, by=lambda g: f.jvp(g, (x,), (x,), has_aux=True)))
    return found


@scenarios.add
def outputs_that_are_no_tensors(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 2, 3)
    outputs: list[Any] = [None, (), 1, True, 12.2, "text", [], {}, [1], (x, None), (x, 2)]
    ways = [
        lambda g: f.grad(g)(x),
        lambda g: f.vjp(g, x),
        lambda g: f.jvp(g, (x,), (x,)),
        lambda g: f.jacrev(g)(x),
        lambda g: f.jacfwd(g)(x),
        lambda g: f.vmap(g)(x),
    ]
    return [each(of=ways, by=lambda way, o=output: way(lambda _: o)) for output in outputs]


@scenarios.add
def inputs_that_do_not_fit(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 2, 3)
    whole = torch.ones(3, dtype=torch.int64)
    return tried(
        lambda: f.grad(torch.sin)(x),
        lambda: f.grad(torch.sin)(1.0),
        lambda: f.grad(torch.sum)(whole),
        lambda: f.grad(lambda x: x.sum().long())(x),
        lambda: f.grad(lambda x: x["a"].sum())({"a": x, "b": 3}),
        lambda: f.grad(lambda x: x["a"].sum())({"a": x, "b": None}),
        lambda: f.vjp(torch.sin, 1.0),
        lambda: f.vjp(torch.sin, torch.tensor(1)),
        lambda: f.vjp(lambda x: x > 0, x),
        lambda: f.jacrev(lambda x: x > 0)(x),
        lambda: f.jacfwd(lambda x: x > 0)(x),
        lambda: f.jacrev(torch.sin)(1.0),
        lambda: f.jacfwd(torch.sin)(1.0),
        lambda: f.jacrev(torch.sin)(whole),
        lambda: f.jacfwd(torch.sin)(whole),
        lambda: f.jacrev(torch.sin)(),
        lambda: f.grad(torch.sin)(),
        lambda: f.linearize(torch.sin, whole),
    )


@scenarios.add
def cotangents_that_do_not_fit(torch: Any) -> Any:
    x = torch.tensor(1.5)
    _, pull = torch.func.vjp(lambda x: (x, (x, x * 2)), x)
    _, single = torch.func.vjp(torch.sin, x)
    return tried(
        lambda: pull((x, (x, x))),
        lambda: pull(((x, (x, x)),)),
        lambda: pull((x, (x,))),
        lambda: pull(x),
        lambda: pull((x, (x, 1.0))),
        lambda: single(x.double()),
        lambda: single(torch.ones(2)),
        lambda: single(torch.tensor(1)),
        lambda: single(None),
        lambda: single(torch.tensor(1j)),
    )


@scenarios.add
def pulling_back_again_and_again(torch: Any) -> Any:
    f, x, batch = torch.func, numbers(torch, 3), numbers(torch, 4, 3, seed=3)
    _, pull = f.vjp(torch.sin, x)
    _, twice = f.vjp(lambda v: pull(v)[0], x)
    return [
        pull(x),
        pull(x * 2),
        f.vmap(pull)(batch),
        twice(x),
        f.vmap(twice)(batch),
        f.jacrev(lambda v: pull(v)[0])(x),
        f.jacfwd(lambda v: pull(v)[0])(x),
        f.jvp(pull, (x,), (x,)),
        f.grad(lambda v: pull(v)[0].sum())(x),
    ]


# ------------------------------------------------------------------------------ what is refused


@scenarios.add
def saved_tensor_hooks(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 3)
    on_cpu = torch.autograd.graph.save_on_cpu

    def total(x: Any) -> Any:
        return torch.sin(x).sum()

    def inside(x: Any) -> Any:
        with on_cpu():
            return total(x)

    def around(call: Any) -> Any:
        with on_cpu():
            return call()

    ways = [
        *[lambda g, t=transform: t(g)(x) for transform in (*transforms(torch), f.vmap)],
        lambda g: f.vjp(g, x)[0],
        lambda g: f.jvp(g, (x,), (x,)),
    ]
    return each(of=ways, by=lambda way: way(inside)), each(
        of=ways, by=lambda way: around(lambda: way(total))
    )


@scenarios.add
def autograd_inside(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 3)

    def flagged(x: Any) -> Any:
        x.requires_grad_()
        return x.sum()

    def retained(x: Any) -> Any:
        y = x.sin()
        y.retain_grad()
        return y.sum()

    def backward(x: Any) -> Any:
        y = x.sin().sum()
        y.backward()
        return y

    def old(x: Any) -> Any:
        return torch.autograd.functional.vjp(lambda x: x.sin().sum(), x)[1].sum()

    def gradient(x: Any) -> Any:
        y = x * 2
        return torch.autograd.grad(y.sin().sum(), y, create_graph=True)[0].sum()

    def hooked(x: Any) -> Any:
        y = x.sin()
        y.register_hook(lambda g: g * 2)
        return y.sum()

    def detached(x: Any) -> Any:
        return (x.detach() * x).sum()

    functions = [flagged, retained, backward, old, gradient, hooked, detached]
    ways = [
        lambda g: f.grad(g)(x),
        lambda g: f.jacrev(g)(x),
        lambda g: f.vmap(g)(torch.ones(2, 3)),
        lambda g: f.vmap(f.grad(g))(torch.ones(2, 3)),
    ]
    return [each(of=functions, by=way) for way in ways]


@pytest.mark.parametrize(**scenarios.cases())
def test_like_pytorch(scenario: Any) -> None:
    assert_same(torch, scenario)
