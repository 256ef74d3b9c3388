"""`jvp`, Jacobians and transforms in one another, told the same way by PyTorch and retrograd."""

from __future__ import annotations

from typing import Any

import pytest

from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()
errors = Scenarios()


def vector(torch: Any, *values: float, grad: bool = False) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=grad)


def matrix(torch: Any, rows: int = 2, columns: int = 3, grad: bool = False) -> Any:
    values = torch.arange(float(rows * columns), dtype=torch.float64).reshape(rows, columns)
    return (values * 0.3 - 0.4).requires_grad_(grad)


def cubes(x: Any) -> Any:
    return (x**3).sum()


def mixed(x: Any) -> Any:
    return x.sin() * x.sum() + (x * x).cumsum(-1)


# ----------------------------------------------------------------------------------------- jvp


@scenarios.add
def jvp_plain(torch: Any) -> Any:
    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)
    return torch.func.jvp(mixed, (x,), (t,))


@scenarios.add
def jvp_trees(torch: Any) -> Any:
    def both(state: Any, y: Any) -> Any:
        return {"product": state["x"] * y, "sum": [y.sum()]}

    x, y = vector(torch), vector(torch, 4.0, 5.0, 6.0)
    return torch.func.jvp(both, ({"x": x}, y), ({"x": y}, x))


@scenarios.add
def jvp_aux(torch: Any) -> Any:
    x = vector(torch)
    return torch.func.jvp(lambda x: (x**2, (x, [x * 3])), (x,), (x,), has_aux=True)


@scenarios.add
def jvp_constants(torch: Any) -> Any:
    x = vector(torch)
    return torch.func.jvp(lambda x: (torch.ones(2), x.detach() * 2, x.long()), (x,), (x,))


@scenarios.add
def jvp_history(torch: Any) -> Any:
    x, t, w = (vector(torch, grad=True) for _ in range(3))
    value, moved = torch.func.jvp(lambda x: x**3 * w, (x,), (t,))
    (moved.sum() + value.sum()).backward()
    with torch.no_grad():
        quiet = torch.func.jvp(lambda x: x**3 * w, (x,), (t,))
    return value, moved, x.grad, t.grad, w.grad, quiet


@scenarios.add
def jvp_inside_modes(torch: Any) -> Any:
    def partly(x: Any) -> Any:
        with torch.no_grad():
            y = x**2
        return y * x

    x = vector(torch)
    return torch.func.jvp(partly, (x,), (x,)), torch.func.jvp(
        lambda x: x * torch.no_grad()(torch.func.grad(cubes))(x), (x,), (x,)
    )


@scenarios.add
def jvp_with_saved_tensor_hooks(torch: Any) -> Any:
    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)

    def hooked(x: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return mixed(x)

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        outside = torch.func.jvp(mixed, (x,), (t,))
    return outside, torch.func.jvp(hooked, (x,), (t,))


@scenarios.add
def forward_mode_switched_off(torch: Any) -> Any:
    switch = torch.autograd.forward_ad._set_fwd_grad_enabled
    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)

    def partly(x: Any) -> Any:
        with switch(False):
            constant = x**2
        return x**2 - constant

    with switch(False):
        outside = torch.func.jvp(torch.sin, (x,), (t,))
    inner = torch.func.jvp(lambda x: torch.func.jvp(partly, (x,), (t,))[1], (x,), (t,))
    return outside, torch.func.jvp(partly, (x,), (t,)), inner


@scenarios.add
def jvp_inside_a_function(torch: Any) -> Any:
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return -torch.func.jvp(torch.cos, (x,), (torch.ones_like(x),))[1]

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            [x] = ctx.saved_tensors
            return gradient * torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1]

    x = vector(torch, grad=True)
    y = Sine.apply(x)
    return y, torch.autograd.grad(y.sum(), x)


@scenarios.add
def jvp_nested(torch: Any) -> Any:
    jvp = torch.func.jvp
    x = torch.tensor(0.7, dtype=torch.float64)
    one = torch.ones_like(x)

    def derivative(f: Any) -> Any:
        return lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]

    return [
        derivative(derivative(torch.sin))(x),
        derivative(derivative(derivative(torch.sin)))(x),
        derivative(lambda x: x * derivative(lambda y: x + y)(one))(x),
        derivative(lambda x: x * derivative(lambda y: x * y)(one))(x),
        derivative(lambda x: derivative(lambda y: x * y**2)(one))(x),
    ]


@scenarios.add
def jvp_in_place(torch: Any) -> Any:
    def written(x: Any) -> Any:
        y = x.clone()
        y[1:].mul_(x[:-1])
        y[0] = x[2] * 2
        return y

    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)
    return torch.func.jvp(written, (x,), (t,)), x


# ----------------------------------------------------------------------- one mode in the other


@scenarios.add
def forward_and_reverse(torch: Any) -> Any:
    grad, jvp = torch.func.grad, torch.func.jvp
    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)

    def loss(x: Any) -> Any:
        return (mixed(x) ** 2).sum()

    return [
        jvp(grad(loss), (x,), (t,)),
        grad(lambda x: jvp(loss, (x,), (t,))[1])(x),
        grad(lambda t: jvp(loss, (x,), (t,))[1])(t),
        grad(lambda t: jvp(grad(loss), (x,), (t,))[1].sum())(t),
        jvp(lambda x: jvp(grad(loss), (x,), (t,))[1], (x,), (t,)),
        grad(lambda x: jvp(grad(loss), (x,), (t,))[1].sum())(x),
        torch.func.vjp(lambda x: jvp(mixed, (x,), (t,)), x)[1]((t, t)),
        jvp(lambda x: torch.func.vjp(mixed, x)[1](t)[0], (x,), (t,)),
    ]


@scenarios.add
def vmap_and_grad(torch: Any) -> Any:
    grad, vmap = torch.func.grad, torch.func.vmap
    x, w = matrix(torch), vector(torch)

    def loss(x: Any) -> Any:
        return (mixed(x) * w).sum()

    def of_both(w: Any, x: Any) -> Any:
        return (mixed(x) * w).sum()

    return [
        vmap(grad(loss))(x),
        grad(lambda x: vmap(loss)(x).sum())(x),
        grad(lambda x: vmap(grad(loss))(x).sin().sum())(x),
        vmap(grad(of_both), in_dims=(None, 0))(w, x),
        vmap(grad(of_both, argnums=(0, 1)), in_dims=(None, 0))(w, x),
        grad(lambda w: vmap(grad(of_both), in_dims=(None, 0))(w, x).sin().sum())(w),
        vmap(grad(lambda x: grad(loss)(x).sum()))(x),
        vmap(vmap(grad(lambda x: x.sin() * w.sum())))(x),
        vmap(grad(lambda x: w.sum() * 1.0))(x),
        vmap(lambda x: torch.func.vjp(mixed, x)[1](w)[0])(x),
        vmap(torch.func.vjp(mixed, w)[1])(x),
        vmap(torch.func.grad_and_value(loss))(x),
    ]


@scenarios.add
def vmap_and_grad_with_history(torch: Any) -> Any:
    grad, vmap = torch.func.grad, torch.func.vmap
    x, w = matrix(torch, grad=True), vector(torch, grad=True)

    def of_both(w: Any, x: Any) -> Any:
        return (mixed(x) * w * w).sum()

    rows = vmap(grad(of_both), in_dims=(None, 0))(w, x)
    rows.sum().backward()
    with torch.no_grad():
        quiet = vmap(grad(of_both), in_dims=(None, 0))(w, x)
    hidden = vmap(torch.no_grad()(grad(of_both)), in_dims=(None, 0))(w, x)
    return rows, w.grad, x.grad, quiet, hidden


@scenarios.add
def vmap_and_jvp(torch: Any) -> Any:
    jvp, vmap = torch.func.jvp, torch.func.vmap
    x, t, w = matrix(torch), matrix(torch) + 1, vector(torch)
    return [
        vmap(lambda x, t: jvp(mixed, (x,), (t,)))(x, t),
        jvp(vmap(mixed), (x,), (t,)),
        vmap(lambda t: jvp(mixed, (w,), (t,))[1])(t),
        vmap(lambda x: jvp(lambda v: v * x, (w,), (w,)))(x),
        jvp(lambda w: vmap(lambda x: x * w.sin())(x), (w,), (w,)),
        vmap(lambda x: jvp(torch.func.grad(cubes), (x,), (w,)))(x),
        jvp(vmap(torch.func.grad(cubes)), (x,), (t,)),
        vmap(lambda x: jvp(lambda y: jvp(mixed, (y,), (w,))[1], (x,), (w,)))(x),
        vmap(lambda x, t: jvp(lambda x, w: x.sin() * w, (x, w), (t, w)))(x, t),
        jvp(lambda w, x: vmap(lambda x: x.sin() * w)(x), (w, x), (w, t)),
    ]


@scenarios.add
def vmap_and_jvp_in_place(torch: Any) -> Any:
    jvp, vmap = torch.func.jvp, torch.func.vmap
    x, t, w = matrix(torch), matrix(torch) + 1, vector(torch)

    def replaced(x: Any, y: Any) -> Any:
        view = x[1:]
        x.copy_(y)
        return x, view

    def partly(x: Any, y: Any) -> Any:
        view = x[::2]
        view.mul_(y[:2])
        return view, x

    def fresh(x: Any, y: Any) -> Any:
        x = x.clone()
        view = x[1:]
        view.copy_(y[1:])
        return view, x

    def run(f: Any, x: Any, t: Any, y: Any) -> Any:
        return jvp(f, (x.clone(), y), (t.clone(), w))

    return [
        vmap(run, in_dims=(None, 0, 0, dim))(f, x, t, y)
        for f in (replaced, partly, fresh)
        for dim, y in ((None, w), (0, t * 2))
    ] + [vmap(lambda x, y: jvp(lambda y: fresh(x, y), (y,), (w,)))(x, t)]


# ----------------------------------------------------------------------------------- jacobians


@scenarios.add
def jacobians(torch: Any) -> Any:
    x, y = vector(torch), vector(torch, 4.0, 5.0)

    def outer(x: Any, y: Any) -> Any:
        return torch.outer(x**2, y)

    def many(x: Any, y: Any) -> Any:
        return {"outer": outer(x, y), "rest": (x.sum(), y)}

    found = []
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        found += [
            jacobian(mixed)(x),
            jacobian(outer, argnums=1)(x, y),
            jacobian(outer, argnums=(1, 0))(x, y),
            jacobian(many, argnums=(0,))(x, y),
            jacobian(many)(x, y),
            jacobian(lambda s: s["x"] * s["y"].sum())({"x": x, "y": y}),
            jacobian(lambda x: (mixed(x), x * 2), has_aux=True)(x),
            jacobian(lambda x: x.sum())(x),
            jacobian(lambda x: x * x)(torch.tensor(3.0)),
            jacobian(lambda x: x * x)(torch.ones(0)),
            jacobian(lambda x, y: x * 2, argnums=1)(x, y),
            jacobian(lambda x: torch.ones(2))(x),
            jacobian(mixed)(vector(torch, grad=True)),
        ]
    return found


@scenarios.add
def jacobians_in_chunks(torch: Any) -> Any:
    x = vector(torch)

    def many(x: Any) -> Any:
        return torch.outer(x, x), x.sin()

    return [
        torch.func.jacrev(many, chunk_size=size, _preallocate_and_copy=copy)(x)
        for size in (None, 1, 2, 5, 12, 100)
        for copy in (False, True)
    ]


@scenarios.add
def jacobians_with_history(torch: Any) -> Any:
    w = vector(torch, grad=True)
    x = vector(torch, 4.0, 5.0, 6.0)
    found = []
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        rows = jacobian(lambda x: mixed(x * w))(x)
        rows.sum().backward()
        found += [rows, w.grad.clone()]
        w.grad = None
    with torch.no_grad():
        found.append(torch.func.jacrev(lambda x: mixed(x * w))(x))
    return found


@scenarios.add
def all_jacobians_of_jacobians(torch: Any) -> Any:
    jacrev, jacfwd = torch.func.jacrev, torch.func.jacfwd
    x = vector(torch, 0.5, -1.0)
    return [
        outer(inner(f))(x)
        for f in (mixed, cubes)
        for outer in (jacrev, jacfwd)
        for inner in (jacrev, jacfwd)
    ]


@scenarios.add
def hessians(torch: Any) -> Any:
    x, y, rows = vector(torch), vector(torch, 4.0, 5.0, 6.0), matrix(torch)

    def loss(x: Any, y: Any) -> Any:
        return (x**2 * y).sum() * y.sin().sum()

    hessian, vmap = torch.func.hessian, torch.func.vmap
    return [
        hessian(cubes)(x),
        hessian(loss, argnums=1)(x, y),
        hessian(loss, argnums=(0, 1))(x, y),
        hessian(lambda x: x.sum())(x),
        vmap(hessian(cubes))(rows),
        vmap(hessian(loss, argnums=(0, 1)), in_dims=(0, None))(rows, y),
        vmap(torch.func.jacrev(mixed))(rows),
        vmap(torch.func.jacfwd(mixed))(rows),
        torch.func.jacrev(vmap(mixed))(rows),
        torch.func.jacfwd(vmap(mixed))(rows),
        torch.func.grad(lambda x: hessian(cubes)(x).sum())(x),
        hessian(cubes)(vector(torch, grad=True)),
    ]


# ----------------------------------------------------------------------------------- linearize


@scenarios.add
def linearized(torch: Any) -> Any:
    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)
    value, push = torch.func.linearize(mixed, x)
    tree, push_tree = torch.func.linearize(
        lambda s, y: {"a": s["x"] * y, "b": [y.sin(), s["x"].sum()]}, {"x": x}, t
    )
    return value, push(t), push(x), tree, push_tree({"x": t}, x)


@scenarios.add
def linearized_many(torch: Any) -> Any:
    x, rows = vector(torch), matrix(torch)
    _, push = torch.func.linearize(mixed, x)
    return torch.func.vmap(push)(rows), torch.func.jvp(push, (x,), (x,))


# ------------------------------------------------------------------------------ custom Functions


def cube_function(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            [x] = ctx.saved_tensors
            return gradient * 3 * x**2

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            [x] = ctx.saved_tensors
            return tangent * 3 * x**2

    return Cube.apply


@scenarios.add
def custom_functions(torch: Any) -> Any:
    cube = cube_function(torch)
    x, t = vector(torch), vector(torch, 0.5, -1.0, 2.0)
    func = torch.func
    return [
        func.jvp(cube, (x,), (t,)),
        func.jacrev(cube)(x),
        func.jacfwd(cube)(x),
        func.vmap(cube)(x),
        func.vmap(func.grad(lambda x: cube(x).sum()))(matrix(torch)),
        func.jvp(func.grad(lambda x: cube(x).sum()), (x,), (t,)),
        func.grad(lambda x: func.jvp(cube, (x,), (t,))[1].sum())(x),
    ]


# -------------------------------------------------------------------------------------- errors


def error(function: Any) -> None:
    """Add a scenario that ends with an error: ``function(torch, func, x)``."""

    def scenario(torch: Any) -> Any:
        return function(torch, torch.func, vector(torch))

    scenario.__name__ = f"error_{len(errors)}"
    errors.append(scenario)


error(lambda torch, func, x: func.jvp(torch.sin, x, x))
error(lambda torch, func, x: func.jvp(torch.sin, [x], [x]))
error(lambda torch, func, x: func.jvp(torch.sin, (x,), (x, x)))
error(lambda torch, func, x: func.jvp(torch.sin, (x,), x))
error(lambda torch, func, x: func.jvp(torch.sin, ({"a": x},), ([x, x],)))
error(lambda torch, func, x: func.jvp(lambda: x, (), ()))
error(lambda torch, func, x: func.jvp(torch.sin, (1.0,), (1.0,)))
error(lambda torch, func, x: func.jvp(torch.sin, (x,), (1.0,)))
error(lambda torch, func, x: func.jvp(torch.sin, (x,), (torch.ones(2),)))
error(lambda torch, func, x: func.jvp(torch.sin, (x.long(),), (x.long(),)))
error(lambda torch, func, x: func.jvp(torch.sin, (x,), (x.long(),)))
error(lambda torch, func, x: func.jvp(lambda x: None, (x,), (x,)))
error(lambda torch, func, x: func.jvp(lambda x: (), (x,), (x,)))
error(lambda torch, func, x: func.jvp(lambda x: 1, (x,), (x,)))
error(lambda torch, func, x: func.jvp(lambda x: (x, 1), (x,), (x,)))
error(lambda torch, func, x: func.jvp(lambda x: torch.ones(2), (x,), (x,), strict=True))
error(lambda torch, func, x: func.jvp(lambda x: x, (x,), (x,), has_aux=True))
error(lambda torch, func, x: func.jvp(lambda x: (x, 1), (x,), (x,), has_aux=True))
error(lambda torch, func, x: func.jvp(lambda x: x.sum().backward(), (x,), (x,)))
error(lambda torch, func, x: func.jvp(lambda x: (x * 1).requires_grad_(), (x,), (x,)))
error(lambda torch, func, x: func.vmap(lambda x: x.sum().backward())(x))
error(lambda torch, func, x: func.vmap(lambda x: (x * 1).requires_grad_())(x))
error(lambda torch, func, x: func.jacrev(torch.sin, chunk_size=0))
error(lambda torch, func, x: func.jacrev(torch.sin, argnums=1)(x))
error(lambda torch, func, x: func.jacrev(torch.sin, argnums=None)(x))
error(lambda torch, func, x: func.jacrev(torch.sin, argnums=(0, 0))(x))
error(lambda torch, func, x: func.jacrev(torch.sin)(x * 1j))
error(lambda torch, func, x: func.jacrev(lambda x: x * 1j)(x))
error(lambda torch, func, x: func.jacrev(lambda x: None)(x))
error(lambda torch, func, x: func.jacrev(lambda x: x.long())(x))
error(lambda torch, func, x: func.jacrev(lambda x: x, has_aux=True)(x))
error(lambda torch, func, x: func.jacrev(lambda x: x)(1.0))
error(lambda torch, func, x: func.jacfwd(torch.sin, argnums=-2)(x))
error(lambda torch, func, x: func.jacfwd(torch.sin)(x * 1j))
error(lambda torch, func, x: func.jacfwd(lambda x: x * 1j)(x))
error(lambda torch, func, x: func.jacfwd(lambda x: 1)(x))
error(lambda torch, func, x: func.jacfwd(lambda x: x, has_aux=True)(x))
error(lambda torch, func, x: func.jacfwd(lambda x: x + torch.rand(3))(x))
error(lambda torch, func, x: func.linearize(torch.sin, x)[1](x, x))
error(lambda torch, func, x: func.linearize(torch.sin, x)[1]({"a": x}))
error(lambda torch, func, x: func.linearize(torch.sin, x)[1](torch.ones(2)))
error(lambda torch, func, x: func.linearize(torch.sin, x)[1](x.float()))
error(lambda torch, func, x: func.functionalize(torch.sin, remove="everything"))


@pytest.mark.parametrize(**scenarios.cases())
def test_scenario(scenario: Any) -> None:
    assert_same(torch, scenario)


@pytest.mark.parametrize(**errors.cases())
def test_error(scenario: Any) -> None:
    assert_same(torch, scenario)
