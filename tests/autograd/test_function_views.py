"""Custom Functions, views and writes: scenarios on PyTorch and on retrograd."""

from __future__ import annotations

from typing import Any

import pytest

from tests.autograd.function_pairs import (
    Notes,
    Scenarios,
    compare,
    doubled_in_place,
    leaf,
    same_again,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenario = Scenarios()


@scenario
def an_input_comes_back(lib: Any, note: Notes) -> None:
    function = same_again(lib)
    x = leaf(lib, 1.0, 2.0)
    out = function.apply(x)
    note(out is x, out, x, out._base is x)
    out.sum().backward()
    note.gradients(x.grad)
    computed = x * 2
    out = function.apply(computed)
    note(out is computed, out, computed)
    note.attempt(lambda: out.mul_(2))
    computed.mul_(2)
    note(out, computed)
    note.attempt(lambda: out.sum())
    plain = leaf(lib, 1.0, grad=False)
    out = function.apply(plain)
    note(out is plain, out, out._base is plain)
    with lib.no_grad():
        out = function.apply(x)
        note(out is x, out)
        out.add_(1)
    note(out, x)
    view = function.apply((x * 2)[:1])
    note(view, view._base)


@scenario
def an_input_comes_back_twice(lib: Any, note: Notes) -> None:
    class Both(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x, x

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    class BothDirty(Both):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x, x

    class Twins(Both):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            return out, out

    x = leaf(lib, 1.0, 2.0)
    for function in (Both, BothDirty, Twins):
        a, b = function.apply(x.clone())
        note(a is b, a, b)
        note.attempt(lambda a=a, b=b: lib.autograd.grad((a * 5 + b).sum(), x))
        note.attempt(lambda a=a: a.mul_(2))


@scenario
def leaves_come_back(lib: Any, note: Notes) -> None:
    class LeafAndSum(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a, a + b

        @staticmethod
        def backward(ctx, first, second):
            return first + second, second

    class Written(lib.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, first, second):
            return first, first + second

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    same, total = LeafAndSum.apply(x, y)
    note(same is x, same, total, x)
    total.register_hook(lambda g: g * 2)
    (same * 2 + total).sum().backward()
    note.gradients(x.grad, y.grad)
    plain = leaf(lib, 1.0, 2.0, grad=False)
    written, other = Written.apply(plain, y)
    note(written is plain, written, other, written.grad_fn is other.grad_fn)
    written.sum().backward()
    note.gradients(y.grad)


@scenario
def writes_inside_forward(lib: Any, note: Notes) -> None:
    class Local(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, what):
            base = x.clone()
            view = base[:1]
            view += 2
            base *= 3
            return {"view": view, "base": base, "both": (view, base)}[what]

        @staticmethod
        def backward(ctx, *grads):
            return lib.ones(2, dtype=lib.float64), None

    x = leaf(lib, 1.0, 2.0)
    for what in ("view", "base", "both"):
        out = Local.apply(x, what)
        note(out)
        first = out[0] if isinstance(out, tuple) else out
        first.sum().backward(retain_graph=True)
        note.gradients(x.grad)
        note.attempt(lambda first=first: first.mul_(2))
        note(out)


@scenario
def views_made_inside(lib: Any, note: Notes) -> None:
    class Row(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, several):
            return (x[:1], x[1:]) if several else x[:1]

        @staticmethod
        def backward(ctx, *grads):
            return lib.cat([grads[0], grads[-1]]) * 7, None

    x = leaf(lib, 1.0, 2.0)
    base = x * 2
    out = Row.apply(base, False)
    note(out, out._base is base)
    note.attempt(lambda: out.mul_(2))
    note.attempt(lambda: out.view(-1).mul_(2))
    note.gradients(lib.autograd.grad(out.sum(), x, retain_graph=True))
    base.mul_(2)
    note(out, base)
    note.attempt(lambda: out.sum())
    for base in (x * 2, x):
        a, b = Row.apply(base, True)
        note(a, b)
        note.attempt(lambda a=a: a.mul_(2))
        note.attempt(lambda b=b: b[:1].mul_(2))
    with lib.no_grad():
        out = Row.apply(x * 2, False)
        note(out)
        out = Row.apply(x, False)
    note(out)
    note.attempt(lambda: out.mul_(2))
    with lib.no_grad():
        out.mul_(2)
    note(out, x)


@scenario
def views_of_temporaries(lib: Any, note: Notes) -> None:
    class Temporary(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x * 2)[:1]

        @staticmethod
        def backward(ctx, grad):
            return lib.cat([grad, grad])

    x = leaf(lib, 1.0, 2.0)
    out = Temporary.apply(x)
    note(out)
    note.attempt(lambda: out.mul_(2))
    note.gradients(lib.autograd.grad(Temporary.apply(x).sum(), x))


@scenario
def views_without_gradient(lib: Any, note: Notes) -> None:
    class Row(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x[:1]
            ctx.mark_non_differentiable(out)
            return out

    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x

    x = leaf(lib, 1.0, 2.0)
    for function in (Row, Same):
        for source in (x, x * 2, x.detach()):
            out = function.apply(source)
            note(out, out is source)
            note.attempt(lambda out=out: out.mul_(2))


@scenario
def pure_views(lib: Any, note: Notes) -> None:
    class Flat(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, several):
            ctx._is_pure_view = True
            return (x.view(-1), x) if several else x.view(-1)

        @staticmethod
        def backward(ctx, grad, *others):
            return grad * 9, None

    x = leaf(lib, 1.0, 2.0)
    base = x * 2
    out = Flat.apply(base, False)
    note(out)
    out.mul_(3)
    note(out, base)
    note.gradients(lib.autograd.grad(base.sum(), x))
    note.attempt(lambda: Flat.apply(x * 2, True))


@scenario
def in_place(lib: Any, note: Notes) -> None:
    for saves in (False, True):
        function = doubled_in_place(lib, saves)
        x = leaf(lib, 1.0, 2.0)
        y = x * 3
        before = y.grad_fn
        out = function.apply(y)
        note(out is y, out, out.grad_fn.next_functions[0][0] is before)
        (out * out).sum().backward()
        note.gradients(x.grad, function.seen)
        note.attempt(lambda f=function, x=x: f.apply(x))
        note(x)
        plain = leaf(lib, 1.0, grad=False)
        note(function.apply(plain) is plain, plain)
        with lib.no_grad():
            z = x * 1
            note(function.apply(z) is z, z)
        z = x * 1
        with lib.no_grad():
            out = function.apply(z)
        note(out is z, out, z)


@scenario
def in_place_on_views(lib: Any, note: Notes) -> None:
    for saves in (False, True):
        function = doubled_in_place(lib, saves)
        x = leaf(lib, 1.0, 2.0, 3.0)
        base = x * 3
        view, other = base[:2], base[1:]
        out = function.apply(view)
        note(out is view, out, base, other)
        (base * base).sum().backward(retain_graph=True)
        note.gradients(x.grad, function.seen)
        note.attempt(lambda base=base: base.sum().backward())
        note.attempt(lambda f=function, x=x: f.apply(x[:1]))
        note.attempt(lambda f=function, x=x: f.apply((x * 2).unbind()[0]))
        with lib.no_grad():
            hidden = (x * 2)[:1]
        note.attempt(lambda f=function, hidden=hidden: f.apply(hidden))


@scenario
def in_place_second_order(lib: Any, note: Notes) -> None:
    function = doubled_in_place(lib, False)
    x = leaf(lib, 1.0, 2.0, 3.0)
    base = x * x
    function.apply(base[:2])
    (first,) = lib.autograd.grad((base * base).sum(), x, create_graph=True)
    note(first.tolist())
    note.gradients(lib.autograd.grad(first.sum(), x))


@scenario
def in_place_mistakes(lib: Any, note: Notes) -> None:
    class Dirty(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, how):
            if how == "not returned":
                ctx.mark_dirty(x)
                return x * 2
            if how == "not an input":
                out = x * 2
                ctx.mark_dirty(out)
                return out
            if how == "a view of a temporary":
                out = (x * 2)[:1]
                ctx.mark_dirty(out)
                return out
            if how == "a view of the input":
                out = x[:1]
                ctx.mark_dirty(out)
                return out
            if how == "several":
                ctx.mark_dirty(x)
                return x, x * 2
            if how == "with other things":
                ctx.mark_dirty(x)
                return x, 3
            ctx.mark_dirty(x, x)
            return x

        @staticmethod
        def backward(ctx, *grads):
            return grads[0] * 5, None

    x = leaf(lib, 1.0, 2.0)
    for how in (
        "not returned",
        "not an input",
        "a view of a temporary",
        "a view of the input",
        "several",
        "with other things",
        "twice",
    ):
        for source in (x * 2, (x * 2)[:1], x.detach().clone(), x):
            note.attempt(lambda how=how, source=source: Dirty.apply(source, how))
            note(source)


@scenario
def in_place_on_what_needs_no_grad(lib: Any, note: Notes) -> None:
    class Copy(lib.autograd.Function):
        @staticmethod
        def forward(ctx, target, source):
            target.copy_(source)
            ctx.mark_dirty(target)
            return target

        @staticmethod
        def backward(ctx, grad):
            return None, grad * 2

    x = leaf(lib, 1.0, 2.0)
    target = leaf(lib, 0.0, 0.0, grad=False)
    out = Copy.apply(target, x)
    note(out is target, out)
    out.sum().backward()
    note.gradients(x.grad)
    base = leaf(lib, 0.0, 0.0, 0.0, grad=False)
    view, rest = base[:2], base[2:]
    out = Copy.apply(view, x)
    note(out is view, out, base, rest)
    (base * base).sum().backward()
    note.gradients(x.grad)


@scenario
def hooks_and_retained_gradients_after_in_place(lib: Any, note: Notes) -> None:
    function = doubled_in_place(lib)
    x = leaf(lib, 1.0, 2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: note("before", g.tolist()))
    function.apply(y)
    y.register_hook(lambda g: note("after", g.tolist()))
    y.sum().backward()
    note.gradients(y.grad, x.grad, y.retains_grad)


@pytest.mark.parametrize("name", scenario)
def test_scenario(name: str) -> None:
    compare(scenario[name], torch)
