"""Custom Functions as nodes of the graph: scenarios on PyTorch and on retrograd."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tests.autograd.function_pairs import (
    Notes,
    Scenarios,
    compare,
    doubled_in_place,
    leaf,
    product,
    same_again,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenario = Scenarios()


@scenario
def contexts_cannot_be_copied(lib: Any, note: Notes) -> None:
    node = product(lib).apply(leaf(lib, 1.0), leaf(lib, 2.0)).grad_fn
    note.attempt(lambda: copy.copy(node))
    note.attempt(lambda: copy.deepcopy(node))
    note.attempt(lambda: pickle.dumps(node))
    note.attempt(lambda: node._register_hook_dict(3))


@scenario
def hooks_on_the_node(lib: Any, note: Notes) -> None:
    class Sum(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y, x * 2

        @staticmethod
        def backward(ctx, first, second):
            return (first + second * 2).expand(3, 2), first.float()

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    out, other = Sum.apply(x, y)
    node = out.grad_fn
    note(node.name(), node.metadata, len(node.next_functions))
    node.metadata["a"] = 1
    note(out.grad_fn.metadata)
    node.register_prehook(lambda grads: note.gradients("pre", grads))
    node.register_hook(lambda ins, outs: note.gradients("post", ins, outs))
    handle = node.register_hook(lambda ins, outs: (ins[0] * 10, ins[1]))
    out.sum().backward(retain_graph=True)
    note.gradients(x.grad, y.grad)
    handle.remove()
    other.sum().backward(retain_graph=True)
    note.gradients(x.grad, y.grad)
    note.gradients(lib.autograd.grad((out + other).sum(), y))


@scenario
def once_differentiable(lib: Any, note: Notes) -> None:
    once = lib.autograd.function.once_differentiable

    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, number, y):
            ctx.save_for_backward(x, y)
            return x * y * number

        @staticmethod
        @once
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            note(lib.is_grad_enabled(), grad.requires_grad)
            return grad * y, None, grad * x

    class Single(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once
        def backward(ctx, grad):
            return grad * 2

    x, y = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    Mixed.apply(x, 2, y).sum().backward()
    note.gradients(x.grad, y.grad, Mixed.backward.__name__)
    found = lib.autograd.grad(Mixed.apply(x, 2, y).sum(), [x, y], create_graph=True)
    note(found)  # the gradient of sum() does not require grad
    found = lib.autograd.grad(Mixed.apply(x, 2, y).pow(2).sum(), [x, y], create_graph=True)
    note(found, found[0].grad_fn is found[1].grad_fn)
    note.attempt(lambda: found[0].sum().backward())
    (found,) = lib.autograd.grad(Single.apply(x).pow(2).sum(), x, create_graph=True)
    note(found)
    note.attempt(lambda: found.sum().backward())


@scenario
def inference_mode(lib: Any, note: Notes) -> None:
    function = product(lib)
    x, y = leaf(lib, 1.0), leaf(lib, 2.0)
    with lib.inference_mode():
        out = function.apply(x, y)
        made = lib.ones(1, dtype=lib.float64)
        note(out, out.is_inference(), same_again(lib).apply(x), same_again(lib).apply(made))
        note(doubled_in_place(lib).apply(made) is made, made)
    note.attempt(lambda: function.apply(x, made))
    note.attempt(lambda: same_again(lib).apply(made))
    note.attempt(lambda: doubled_in_place(lib).apply(made))


@scenario
def calls_back_into_backward(lib: Any, note: Notes) -> None:
    class Again(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.value = x.item()
            return x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.value < 0:
                return grad
            with lib.enable_grad():
                inner = lib.tensor(ctx.value - 1, dtype=lib.float64, requires_grad=True)
                out = Again.apply(inner) * 2
            out.backward()
            note.gradients(ctx.value, inner.grad)
            return grad * inner.grad

    x = leaf(lib, 4.0)
    Again.apply(x).sum().backward()
    note.gradients(x.grad)


@scenario
def old_attributes(lib: Any, note: Notes) -> None:
    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    out = Plain.apply(leaf(lib, 1.0))
    node = out.grad_fn
    for name in ("requires_grad", "saved_tensors", "next_functions", "metadata"):
        with pytest.raises(AttributeError):
            setattr(node, name, 3)
        note(name)
    for name in ("materialize_grads", "_is_pure_view"):
        with pytest.raises(AttributeError):
            getattr(node, name)
        note(name)
    note(node.dirty_tensors, node.non_differentiable, node._materialize_non_diff_grads)
    node.needs_input_grad = (False,)
    note(node.needs_input_grad)
    number = node._sequence_nr()
    node._set_sequence_nr(number + 5)
    note(node._sequence_nr() == number + 5)
    note(node.apply(lib.ones(1)))
    kept = node
    del out, node
    note(kept.name(), kept.next_functions, kept.metadata)


@scenario
def dtypes(lib: Any, note: Notes) -> None:
    class Convert(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, dtype):
            return x.to(dtype)

        @staticmethod
        def backward(ctx, grad):
            note(grad.dtype)
            return grad, None

    for name in ("float16", "bfloat16", "float32", "complex64", "complex128", "int64", "bool"):
        x = leaf(lib, 1.0, 2.0)
        out = Convert.apply(x, getattr(lib, name))
        note(out.requires_grad, out.dtype, out.grad_fn)
        if out.requires_grad:
            out.sum().abs().backward()
            note.gradients(x.grad)


@pytest.mark.parametrize("name", scenario)
def test_scenario(name: str) -> None:
    compare(scenario[name], torch)
