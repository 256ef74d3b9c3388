"""Jacobians, `jvp`, `linearize` and transforms in one another, where PyTorch's own tests look."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from tests.func.attempts import attempt, each, numbers, tried
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()


def both(torch: Any) -> tuple[Any, Any]:
    return torch.func.jacrev, torch.func.jacfwd


# ----------------------------------------------------------------------------------- jacobians


@scenarios.add
def jacobians_of_all_shapes(torch: Any) -> Any:
    x, y, z = numbers(torch, 2, 3), numbers(torch, 3, 2, seed=5), numbers(torch, 3, seed=7)
    found = []
    for jacobian in both(torch):
        found += [
            jacobian(lambda x: x[0, 1:].unsqueeze(-1))(x),
            jacobian(lambda x, y: {"l": 2 * x, "r": (x * y,)}, argnums=(0, 1))(z, z),
            jacobian(lambda a, b: a[0] + a[1] * 2 + b * 3, argnums=(0, 1))((z[0], z[1]), z[2]),
            jacobian(lambda d: {"c": d["a"].sin(), "d": d["b"].cos()})({"a": z, "b": z}),
            jacobian(lambda x: x)(z[0]),
            jacobian(lambda x: x)(z[:1]),
            jacobian(lambda x, y: x, argnums=(0, 1))(x, x),
            jacobian(lambda _: x)(z),
            jacobian(lambda x, y: (x @ y, x.sum(), y.sum()), argnums=(0, 1))(x, y),
            jacobian(lambda x: torch.stack([x, x, x]))(z[0]),
            jacobian(lambda t, i: t + i)(z, 3),
            jacobian(lambda x: torch.take(x, torch.ones(3, dtype=torch.long)))(z),
            jacobian(lambda x: [x.sum(), [x]])(z),
            jacobian(lambda x: x[:0])(z),
            attempt(partial(jacobian(torch.sin), z[:0])),
            torch.func.vmap(jacobian(torch.sin))(x),
            jacobian(jacobian(lambda x: x.sin().sum()))(z),
        ]
    return found


@scenarios.add
def chunks_of_rows(torch: Any) -> Any:
    jacrev, x, y = torch.func.jacrev, numbers(torch, 3, 2), numbers(torch, 1, 2, seed=3)

    def several(x: Any, y: Any) -> Any:
        return (x.sin(), x + y), (x + 2, x.sum())

    def rows(size: int, copy: bool) -> Any:
        return jacrev(several, (0, 1), chunk_size=size, _preallocate_and_copy=copy)(x, y)

    found = [rows(size, copy) for size, copy in product((1, 4, 1000), (True, False))]
    return found, each(of=[0, -2], by=lambda size: jacrev(several, chunk_size=size))


@scenarios.add
def one_row_at_a_time_needs_no_vmap(torch: Any) -> Any:
    class Looking(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * len(gradient.nonzero())

    x = numbers(torch, 3)
    return each(
        of=[1, 2, None],
        by=lambda size: torch.func.jacrev(Looking.apply, chunk_size=size)(x),
    )


@scenarios.add
def jacobians_of_functions_that_write(torch: Any) -> Any:
    def copied(x: Any, y: Any) -> Any:
        y.copy_(x)
        return y

    def partly(x: Any, y: Any, z: Any) -> Any:
        x[:2] = y
        return torch.vstack([(x**2).sum(), (z**3).sum()])

    found = []
    for jacobian in both(torch):
        x, y = numbers(torch, 2), numbers(torch, 2, seed=2)
        found += [jacobian(copied)(x, y), y]
        x, y, z = numbers(torch, 3), numbers(torch, 2, seed=3), numbers(torch, 2, seed=4)
        found += [jacobian(partly, argnums=(1, 2))(x, y, z), x]
    return found


@scenarios.add
def numbers_decide_what_happens(torch: Any) -> Any:
    x = numbers(torch, 3)

    def grown(x: Any) -> Any:
        while x.sum() < 10:
            x = x * 2 + 1
        return x

    def scaled(x: Any) -> Any:
        return x * x.sum().item() + float(x[0])

    def chosen(x: Any) -> Any:
        return x[x > 0] ** 2 if bool((x > 0).any()) else x

    functions = [grown, scaled, chosen]
    twice = torch.func.jacfwd(torch.func.grad(lambda x: chosen(x).sum()))
    ways = (*both(torch), torch.func.hessian)
    return twice(x), [each(of=functions, by=lambda f, j=way: j(f)(x)) for way in ways]


@scenarios.add
def types_of_jacobians(torch: Any) -> Any:
    single = torch.tensor([1.0, 2.0])
    double, half, whole = single.double(), single.half(), single.long()
    found = []
    for jacobian in both(torch):
        found += tried(
            partial(jacobian(lambda x: x * double), single),
            partial(jacobian(lambda x: (x.float(), x.double())), single),
            partial(jacobian(lambda x: x * 2), half),
            partial(jacobian(lambda x, n: x * n), single, whole),
            partial(jacobian(torch.conj), single * 1j),
            partial(jacobian(lambda x: x * 1j), single),
            partial(jacobian(lambda x, z: (x * z).real), single, single * 1j),
        )
    return found


# ----------------------------------------------------------------------------- jvp, linearize


@scenarios.add
def wrong_arguments_of_jvp(torch: Any) -> Any:
    jvp, one, x = torch.func.jvp, torch.tensor(1.0), numbers(torch, 2, 3)
    calls: list[tuple[Any, ...]] = [
        (one, one),
        (((one, one), one), (one, one)),
        (((one, one), 1), ((one, one), one)),
        (((),), ((),)),
        ((x,), (x, x)),
        ((), ()),
        (x, (x,)),
        ((x,), x),
        ((x,), [x]),
        ((1.0,), (x,)),
        ((x,), (1.0,)),
        ((x,), (x[0],)),
        ((x,), (x.float(),)),
        ((one.long(),), (one,)),
        ((x,), (x.long(),)),
        ((x,), (None,)),
    ]
    found = each(of=calls, by=lambda call: jvp(torch.sin, *call))
    constant = attempt(lambda: jvp(lambda y: (y, x), (x,), (x,), strict=True))
    return found, constant, jvp(lambda y: (y, x), (x,), (x,)), jvp(lambda x, y: x, (x, x), (x, x))


@scenarios.add
def forward_mode_switched_off(torch: Any) -> Any:
    jvp, switch = torch.func.jvp, torch.autograd.forward_ad._set_fwd_grad_enabled
    x, t = torch.tensor(0.5), torch.tensor(1.0)

    def shifted(x: Any) -> Any:
        with switch(False):
            shift = x**2
        return x**2 - shift

    with switch(False):
        around = jvp(torch.sin, (x,), (t,))
    inside = jvp(shifted, (x,), (t,))
    return around, inside, jvp(lambda x: jvp(shifted, (x,), (t,))[1], (x,), (t,))


@scenarios.add
def linearized_functions(torch: Any) -> Any:
    f, x, t = torch.func, numbers(torch, 3), numbers(torch, 3, seed=2)
    batch = numbers(torch, 4, 3, seed=3)
    value, push = f.linearize(lambda x: (x.cos(), x.sum()), x)
    trees = f.linearize(
        lambda d: {"a": d["x"].sum(), "b": (d["x"] * d["y"][0],)}, {"x": x, "y": [t]}
    )
    constant = f.linearize(lambda x: t, x)
    return [
        value,
        push(t),
        push(t * 2),
        f.vmap(push)(batch),
        f.jacfwd(push)(t),
        f.jacrev(push)(t),
        f.grad(lambda t: push(t)[1])(t),
        f.jvp(push, (t,), (x,)),
        trees[0],
        trees[1]({"x": t, "y": [x]}),
        constant[0],
        constant[1](t),
        tried(
            lambda: push((t, t)),
            lambda: push(t.unsqueeze(0)),
            lambda: push(t.float()),
            lambda: push(),
            lambda: push(t, t),
        ),
    ]


# ---------------------------------------------------------------------------- in one another


def steps(torch: Any) -> dict[str, Callable[..., Any]]:
    """From a function of vectors to another one, by one transform."""
    f = torch.func
    ones = torch.ones(2, dtype=torch.float64)
    return {
        "grad": lambda q: f.grad(lambda x: q(x).sum()),
        "vjp": lambda q: lambda x: f.vjp(q, x)[1](q(x))[0],
        "jvp": lambda q: lambda x: f.jvp(q, (x,), (x.cos(),))[1],
        "jacrev": lambda q: lambda x: f.jacrev(q)(x).sum(0),
        "jacfwd": lambda q: lambda x: f.jacfwd(q)(x).sum(0),
        "vmap": lambda q: lambda x: f.vmap(lambda s: q(x * s))(ones).sum(0),
    }


@scenarios.add
def three_transforms(torch: Any) -> Any:
    x, made = numbers(torch, 3), steps(torch)

    def function(x: Any) -> Any:
        return x.sin() * x.flip(0)

    names = [way for way in product(made, repeat=3) if len(set(way)) > 1]
    return {way: made[way[0]](made[way[1]](made[way[2]](function)))(x) for way in names[::3]}


@scenarios.add
def two_transforms_of_a_batch(torch: Any) -> Any:
    batch, made = numbers(torch, 2, 3), steps(torch)

    def function(x: Any) -> Any:
        return x.sin() * x.flip(0)

    return {
        way: torch.func.vmap(made[way[0]](made[way[1]](function)))(batch)
        for way in product(made, repeat=2)
    }


@scenarios.add
def batches_among_constants(torch: Any) -> Any:
    f, x, w = torch.func, numbers(torch, 2, 3), numbers(torch, 3, seed=4)
    functions = [
        lambda x: f.grad(lambda w: (w * x).sin().sum())(w),
        lambda x: f.jacrev(lambda w: w * x)(w),
        lambda x: f.jacfwd(lambda w: w * x)(w),
        lambda x: f.hessian(lambda w: (w * x).pow(3).sum())(w),
        lambda x: f.jvp(lambda w: w * x, (w,), (x,)),
        lambda x: f.jvp(lambda w: (w * x).cumsum(0), (w,), (w,)),
        lambda x: f.jvp(lambda w: torch.cat([w, x]) * torch.stack([w[0], x[0]]).sum(), (w,), (x,)),
        lambda x: f.jvp(lambda w: f.grad(lambda q: (q * w * x).sin().sum())(w), (w,), (x,)),
        lambda x: f.vjp(lambda w: w**2, w)[1](x)[0],
        lambda t: f.jvp(lambda w: f.vmap(lambda x: (w * x * t).sum())(x), (w,), (t,)),
        lambda x: f.vmap(lambda y: f.grad(lambda w: (w * x * y).sin().sum())(w))(x),
    ]
    return [f.vmap(function)(x) for function in functions]


@scenarios.add
def views_and_writes_in_both_modes(torch: Any) -> Any:
    f = torch.func

    def to_base(x: Any, y: Any) -> Any:
        view = x[:, ::2]
        view.copy_(y)
        return view, x

    def to_view(x: Any, y: Any) -> Any:
        view = x[:, ::2]
        x[:, ::2] = y
        x.mul_(2)
        return view, x

    def pushed(function: Any) -> Any:
        return lambda x, xt, y, yt: f.jvp(function, (x, y), (xt, yt))

    def pushed_into(function: Any) -> Any:
        return lambda x, _, y, yt: f.jvp(lambda y: function(x.clone(), y), (y,), (yt,))

    found = []
    for way, function in product((pushed, pushed_into), (to_base, to_view)):
        x, xt = numbers(torch, 2, 6, 2), numbers(torch, 2, 6, 2, seed=1)
        y, yt = numbers(torch, 2, 2, 3, seed=2), numbers(torch, 2, 2, 3, seed=3)
        found += [f.vmap(way(function), in_dims=(2, 2, 1, 1))(x, xt, y, yt), x]
    return found


@scenarios.add
def writes_of_batches_into_views(torch: Any) -> Any:
    f, x, e = torch.func, numbers(torch, 2, 3), numbers(torch, 2, 3, seed=4)

    def function(x: Any, e: Any) -> Any:
        y = x * e.sum()
        y[0] = y[0] * e[1]
        y[1:].mul_(e[:2])
        return y.sum()  # its gradient, ones, has no batch

    def twice(x: Any, t: Any) -> Any:
        def inner(x: Any) -> Any:
            return f.vjp(lambda x: torch.stack([x * t, t * x]).prod(0), x)[1](x)[0]

        return f.jvp(inner, (x,), (t,))[1]

    return [
        f.vmap(f.grad(function))(x, e),
        f.vmap(f.hessian(function))(x, e),
        f.vmap(lambda x, e: f.jvp(lambda x: function(x, e), (x,), (e,)))(x, e),
        f.vjp(lambda x: f.vmap(twice, (None, 0))(x, e), x[0])[1](e)[0],
    ]


@scenarios.add
def tangents_of_results_need_no_history(torch: Any) -> Any:
    f, forward_ad = torch.func, torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(numbers(torch, 3), numbers(torch, 3, seed=1))
        results = [
            f.grad(lambda x: x.sin().sum())(dual),
            f.vmap(torch.sin)(dual),
            f.jacrev(torch.sin)(dual),
            f.vjp(torch.sin, dual)[1](dual.detach())[0],
        ]
        return [tuple(forward_ad.unpack_dual(result)) for result in results]


@scenarios.add
def hessians_of_layers_need_no_history(torch: Any) -> Any:
    functional, x, g = torch.nn.functional, numbers(torch, 1, 2, 4, 4), numbers(torch, 2, seed=2)
    losses = [
        lambda h: functional.avg_pool2d(h * h.mean(), 2).pow(2).sum(),
        lambda h: functional.max_pool2d(h.relu(), 2).pow(2).sum(),
        lambda h: functional.batch_norm(h, None, None, g, training=True).pow(3).sum(),
        lambda h: functional.cross_entropy(h.flatten(1), torch.tensor([5])),
    ]
    return [
        torch.func.hessian(lambda g, f=loss: f(x * g.reshape(1, 2, 1, 1)))(g) for loss in losses
    ]


@scenarios.add
def graphs_through_transforms(torch: Any) -> Any:
    f, w = torch.func, torch.tensor(2.0, requires_grad=True)
    x = torch.tensor([1.0, -0.5])
    results = [
        f.grad(lambda x: (x.sin() * w**2).sum())(x),
        f.jacrev(lambda x: x * w**2)(x),
        f.jacfwd(lambda x: x * w**2)(x),
        f.hessian(lambda x: (x * w).pow(3).sum())(x),
        f.vmap(lambda x: x * w**2)(x),
        f.vmap(f.grad(lambda x: x**2 * w**2))(x),
        f.jvp(lambda x: x**2 * w**2, (x,), (x,))[1],
        f.vjp(lambda x: x**2 * w**2, x)[1](x)[0],
    ]
    return results, [torch.autograd.grad(result.sum(), w) for result in results]


@pytest.mark.parametrize(**scenarios.cases())
def test_like_pytorch(scenario: Any) -> None:
    assert_same(torch, scenario)
