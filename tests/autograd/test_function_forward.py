"""Forward mode of custom Functions: every scenario on PyTorch and on retrograd, side by side."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import retrograd
from tests.autograd.function_pairs import Notes, compare

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Scenario = Callable[[Any, Any, Notes], None]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    def run(lib: Any, note: Notes) -> None:
        forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
        SCENARIOS[name](lib, forward_ad, note)

    compare(run, torch)


def pair(lib: Any, *, grad: bool = False) -> tuple[Any, Any]:
    value = lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64, requires_grad=grad)
    return value, lib.tensor([0.5, -1.0, 2.0], dtype=lib.float64)


@scenario
def tangents(lib: Any, fw: Any, note: Notes) -> None:
    class Product(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, number):
            ctx.save_for_forward(x, y)
            ctx.number = number
            return x * y * number

        @staticmethod
        def jvp(ctx, x_t, y_t, number_t):
            note(x_t, y_t, number_t, fw._is_fwd_grad_enabled(), lib.is_grad_enabled())
            x, y = ctx.saved_tensors
            return ctx.number * (x * y_t + y * x_t)

        @staticmethod
        def vjp(ctx, grad):
            return grad, grad, None

    x, x_t = pair(lib, grad=True)
    y, y_t = pair(lib)
    with fw.dual_level():
        dual = fw.make_dual(x, x_t)
        out = Product.apply(dual, y, 3)
        note(fw.unpack_dual(out).tangent, out.requires_grad)
        out = Product.apply(dual, fw.make_dual(y, y_t), 3)
        note(fw.unpack_dual(out).tangent)
        note.attempt(lambda: out.grad_fn.saved_tensors)
        with lib.no_grad():
            note(fw.unpack_dual(Product.apply(dual, y, 3)).tangent)
    note.attempt(lambda: Product.apply(x, y, 3).grad_fn.saved_tensors)


@scenario
def no_jvp(lib: Any, fw: Any, note: Notes) -> None:
    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        note.attempt(lambda: Plain.apply(fw.make_dual(*pair(lib))))
        note.attempt(lambda: Plain.apply(pair(lib)[0]))


@scenario
def materialized(lib: Any, fw: Any, note: Notes) -> None:
    class Several(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, places, materialize):
            ctx.set_materialize_grads(materialize)
            return x * y, places

        @staticmethod
        def jvp(ctx, *tangents):
            note(tangents)
            return tangents[0], None

    with fw.dual_level():
        for materialize in (True, False):
            out, _ = Several.apply(
                fw.make_dual(*pair(lib)), pair(lib)[0], lib.arange(3), materialize
            )
            note(fw.unpack_dual(out).tangent)


@scenario
def wrong_results(lib: Any, fw: Any, note: Notes) -> None:
    class Free(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, result):
            ctx.result = result
            places = x.long()
            constant = x * 3
            ctx.mark_non_differentiable(constant)
            return x * 2, places, constant, "text"

        @staticmethod
        def jvp(ctx, x_t, _):
            return ctx.result(x_t)

    with fw.dual_level():
        x = fw.make_dual(*pair(lib))
        for result in (
            lambda t: (t, None, None, None),
            lambda t: t,
            lambda t: (t, None, None),
            lambda t: (t, None, None, None, None),
            lambda t: (t, t, None, None),
            lambda t: (t, None, t, None),
            lambda t: (t, None, None, t),
            lambda t: (2.0, None, None, None),
            lambda t: (t[:1], None, None, None),
            lambda t: (t.float(), None, None, None),
        ):
            note.attempt(
                lambda result=result: str(fw.unpack_dual(Free.apply(x, result)[0]).tangent)
            )


@scenario
def views(lib: Any, fw: Any, note: Notes) -> None:
    class Row(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, result):
            ctx.result = result
            return x[:2]

        @staticmethod
        def jvp(ctx, x_t, y_t, _):
            return ctx.result(x_t)

    x, x_t = pair(lib)
    with fw.dual_level():
        for dual in (fw.make_dual(x, x_t), fw.make_dual(x, x_t).view(-1)):
            for result in (
                lambda t: t[:2],
                lambda t: t[:2].clone(),
                lambda t: t.clone()[:2],
            ):
                note.attempt(
                    lambda result=result, dual=dual: fw.unpack_dual(
                        Row.apply(dual, dual, result)
                    ).tangent.tolist()
                )
        plain, moving = pair(lib)[0], fw.make_dual(*pair(lib))
        out = Row.apply(plain, moving, lambda t: lib.ones(2, dtype=lib.float64))
        note(fw.unpack_dual(out).tangent.tolist(), fw.unpack_dual(plain).tangent.tolist())


@scenario
def an_input_comes_back(lib: Any, fw: Any, note: Notes) -> None:
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, result):
            ctx.result = result
            return x

        @staticmethod
        def jvp(ctx, x_t, _):
            return ctx.result(x_t)

    x, x_t = pair(lib)
    with fw.dual_level():
        for result in (lambda t: t.view_as(t), lambda t: t, lambda t: t * 2):
            note.attempt(
                lambda result=result: fw.unpack_dual(
                    Same.apply(fw.make_dual(x, x_t), result)
                ).tangent.tolist()
            )


@scenario
def in_place(lib: Any, fw: Any, note: Notes) -> None:
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, result):
            ctx.result = result
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def jvp(ctx, x_t, y_t, _):
            return ctx.result(x_t)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None, None

    x, x_t = pair(lib)
    y = pair(lib)[0]
    with fw.dual_level():
        for result in (
            lambda t: t.mul_(2),
            lambda t: t * 2,
            lambda t: (t.mul_(2), t.clone().mul_(1))[1],
            lambda t: None,
        ):
            dual = fw.make_dual(x.clone(), x_t.clone())
            note.attempt(
                lambda result=result, dual=dual: fw.unpack_dual(
                    Double.apply(dual, y, result)
                ).tangent.tolist()
            )
        plain = x.clone()
        out = Double.apply(plain, fw.make_dual(y, x_t), lambda t: lib.ones(3, dtype=lib.float64))
        note(out is plain, fw.unpack_dual(plain).tangent.tolist())
        base = x.clone()
        view = base[:2]
        Double.apply(view, fw.make_dual(y, x_t), lambda t: lib.ones(2, dtype=lib.float64))
        note(fw.unpack_dual(base).tangent.tolist(), fw.unpack_dual(view).tangent.tolist())


@scenario
def returned_as_it_is_in_no_op(lib: Any, fw: Any, note: Notes) -> None:
    class Nothing(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def jvp(ctx, x_t):
            return x_t.add(1).view_as(x_t)

    with fw.dual_level():
        note.attempt(lambda: Nothing.apply(fw.make_dual(*pair(lib))))


@scenario
def reverse_over_forward(lib: Any, fw: Any, note: Notes) -> None:
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def jvp(ctx, x_t):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * x_t

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    x, x_t = pair(lib, grad=True)
    with fw.dual_level():
        tangent = fw.unpack_dual(Cube.apply(fw.make_dual(x, x_t))).tangent
        note(tangent.requires_grad, tangent.tolist())
        (found,) = lib.autograd.grad(tangent.sum(), x)
        note(found.tolist())
        value = fw.make_dual(x, x_t)
        (gradient,) = lib.autograd.grad(Cube.apply(value).sum(), value, create_graph=True)
        note(gradient.tolist(), fw.unpack_dual(gradient).tangent.tolist())


def cube(lib: Any) -> Any:
    class Cube(lib.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, scale):
            return x**3 * scale, x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.scale = inputs[1]
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def jvp(ctx, x_t, _):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * x_t * ctx.scale, x_t * 2

        @staticmethod
        def backward(ctx, grad, other):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad * ctx.scale + 2 * other, None

    return Cube


@scenario
def transforms(lib: Any, fw: Any, note: Notes) -> None:
    function = cube(lib)
    x, x_t = pair(lib)

    def f(x):
        first, second = function.apply(x, 5.0)
        return (first * second).sin()

    def once(x):
        return lib.func.jvp(f, (x,), (x_t,))[1]

    note(once(x).tolist())
    note(lib.func.grad(lambda x: f(x).sum())(x).tolist())
    note(lib.func.grad(lambda x: once(x).sum())(x).tolist())
    inner = lib.func.grad(lambda x: f(x).sum())
    note([part.tolist() for part in lib.func.jvp(inner, (x,), (x_t,))])
    note(lib.func.jacfwd(f)(x).tolist(), lib.func.jacrev(f)(x).tolist())
    note(lib.func.hessian(lambda x: f(x).sum())(x).tolist())
    note(lib.func.vmap(f)(x.reshape(3, 1)).tolist())


def test_jvp_inside_of_jvp() -> None:
    """PyTorch forgets here that the tangents of a custom Function depend on its argument."""
    function = cube(retrograd)
    x, x_t = pair(retrograd)

    def nested(f: Any) -> list[Any]:
        def once(x: Any) -> Any:
            return retrograd.func.jvp(f, (x,), (x_t,))[1]

        return [part.tolist() for part in retrograd.func.jvp(once, (x,), (x_t,))]

    def custom(x: Any) -> Any:
        first, second = function.apply(x, 5.0)
        return (first * second).sin()

    def plain(x: Any) -> Any:
        return (x**3 * 5.0 * (x * 2)).sin()

    for ours, wanted in zip(nested(custom), nested(plain), strict=True):
        assert ours == pytest.approx(wanted, rel=1e-12)
