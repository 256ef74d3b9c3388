"""Custom Functions, what backward gets and returns: scenarios on PyTorch and on retrograd."""

from __future__ import annotations

from typing import Any

import pytest

from tests.autograd.function_pairs import Notes, Scenarios, compare, leaf

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenario = Scenarios()


@scenario
def results_of_backward(lib: Any, note: Notes) -> None:
    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)

    class Free(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, number, y, result):
            ctx.result = result
            return x * y

        @staticmethod
        def backward(ctx, grad):
            return ctx.result(grad)

    for result in (
        lambda g: (g, None, g * 2, None),
        lambda g: (g, None, g * 2),
        lambda g: g,
        lambda g: (g, None, g, None, None, None),
        lambda g: (g, None, g, None, g),
        lambda g: (g, g, g, None),
        lambda g: (g, 1, g, None),
        lambda g: (2.0, None, g, None),
        lambda g: (g, None, "text", None),
        lambda g: (g[:1], None, g, None),
        lambda g: (g.sum(), None, g, None),
        lambda g: (g.expand(3, 2), None, g, None),
        lambda g: (lib.ones(2, 3), None, g, None),
        lambda g: (g.float(), None, g.to(lib.int64), None),
        lambda g: (g * (1 + 2j), None, g, None),
        lambda g: (None, None, None, None),
        lambda g: None,
        lambda g: (x, None, y, None),
        lambda g: (x.detach(), None, x.detach(), None),
    ):
        x.grad = y.grad = None
        note.attempt(lambda result=result: Free.apply(x, 1, y, result).sum().backward())
        note.gradients(x.grad, y.grad)
        for create in (False, True):
            note.attempt(
                lambda result=result, create=create: [
                    None if g is None else (g.tolist(), str(g.dtype), create and g.requires_grad)
                    for g in lib.autograd.grad(
                        Free.apply(x, 1, y, result).sum(),
                        [y, x],
                        allow_unused=True,
                        create_graph=create,
                    )
                ]
            )


@scenario
def gradients_that_share_memory(lib: Any, note: Notes) -> None:
    class Shared(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x + y

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return (grad, grad) if ctx.needs_input_grad[1] else (x, None)

    x, y, z = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0), leaf(lib, 5.0, 6.0, grad=False)
    start = lib.tensor([2.0, 3.0], dtype=lib.float64)
    Shared.apply(x, y).backward(start)
    Shared.apply(x, y).backward(start)
    note.gradients(x.grad, y.grad, start)
    x.grad.mul_(10)
    note.gradients(x.grad, y.grad, start)
    x.grad = None
    Shared.apply(x, z).sum().backward()
    Shared.apply(x, z).sum().backward()
    note.gradients(x, x.grad)


@scenario
def a_gradient_nobody_wants(lib: Any, note: Notes) -> None:
    class Pair(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, lib.ones(7)

    x, y = leaf(lib, 1.0), leaf(lib, 2.0, grad=False)
    Pair.apply(x, y).sum().backward()
    note.gradients(x.grad, y.grad)


@scenario
def materialized_gradients(lib: Any, note: Notes) -> None:
    for materialize in (True, False):
        for rest in (True, False):

            class Several(lib.autograd.Function):
                @staticmethod
                def forward(ctx, x, materialize, rest):
                    ctx.set_materialize_grads(materialize)
                    ctx._materialize_non_diff_grads = rest
                    constant = x.clone()
                    ctx.mark_non_differentiable(constant)
                    return x * 2, x.float() * 3, constant, x.long(), None

                @staticmethod
                def backward(ctx, *grads):
                    note.gradients(grads)
                    return grads[0], None, None

            x = leaf(lib, 1.0, 2.0)
            outs = Several.apply(x, materialize, rest)
            note(outs)
            lib.autograd.grad(outs[0].sum(), x, retain_graph=True)
            note.attempt(
                lambda x=x, outs=outs: [
                    None if g is None else g.tolist()
                    for g in lib.autograd.grad(outs[1].sum(), x, allow_unused=True)
                ]
            )


@scenario
def undefined_single_gradient(lib: Any, note: Notes) -> None:
    class Silent(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    class Watch(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            note.gradients(grad)
            return grad, None

    x = leaf(lib, 1.0, 2.0)
    for materialize in (True, False):
        Silent.apply(Watch.apply(x, materialize)).sum().backward()
        note.gradients(x.grad)
    note.gradients(lib.autograd.grad(Silent.apply(x * x).sum(), x, allow_unused=True))


@scenario
def non_differentiable_outputs(lib: Any, note: Notes) -> None:
    class Sorted(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, places = x.sort()
            doubled = x * 2
            ctx.mark_non_differentiable(places, doubled)
            ctx.save_for_backward(places)
            return values, places, doubled

        @staticmethod
        def backward(ctx, grad, *others):
            note.gradients(others)
            (places,) = ctx.saved_tensors
            return lib.zeros(3, dtype=lib.float64).index_add_(0, places, grad)

    x = leaf(lib, 3.0, 1.0, 2.0)
    values, places, doubled = Sorted.apply(x)
    note(values, places, doubled)
    (values * leaf(lib, 1.0, 2.0, 3.0, grad=False)).sum().backward()
    note.gradients(x.grad)
    note.attempt(lambda: doubled.sum().backward())


@scenario
def non_differentiable_none(lib: Any, note: Notes) -> None:
    class Identity(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone()
            ctx.mark_non_differentiable(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            return None

    x = leaf(lib, 1.0)
    note(Identity.apply(x * x) + (x * x))
    (Identity.apply(x * x) + (x * x)).sum().backward()
    note.gradients(x.grad)


@pytest.mark.parametrize("name", scenario)
def test_scenario(name: str) -> None:
    compare(scenario[name], torch)
