"""Whether the results of transforms have a history outside, as PyTorch's have.

A transform records its backward pass only where the result depends on something outside. What it
depends on may be hidden: behind a batch, in a tangent, in a tensor that nobody was given.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()


def rows(torch: Any, grad: bool = False) -> Any:
    values = torch.arange(6.0, dtype=torch.float64).reshape(3, 2) * 0.3 - 0.4
    return values.requires_grad_(grad)


def weights(torch: Any, grad: bool = True) -> Any:
    return torch.tensor([0.7, -1.3], dtype=torch.float64, requires_grad=grad)


def energy(x: Any, w: Any) -> Any:
    return (x.sin() * w * w + x * x * w.exp()).sum()


@scenarios.add
def batch_of_gradients_without_history(torch: Any) -> Any:
    x, w = rows(torch), weights(torch, grad=False)
    return torch.func.vmap(torch.func.grad(energy), (0, None))(x, w)


@scenarios.add
def batch_of_gradients_with_captured_weights(torch: Any) -> Any:
    x, w = rows(torch), weights(torch)
    found = torch.func.vmap(torch.func.grad(lambda x: energy(x, w)))(x)
    return found, torch.autograd.grad((found * found).sum(), w)


@scenarios.add
def batch_of_gradients_of_a_leaf_outside(torch: Any) -> Any:
    x, w = rows(torch, grad=True), weights(torch, grad=False)
    found = torch.func.vmap(torch.func.grad(energy), (0, None))(x, w)
    return found, torch.autograd.grad((found * found).sum(), x)


@scenarios.add
def batch_of_gradients_with_given_weights(torch: Any) -> Any:
    x, w = rows(torch), weights(torch)
    found = torch.func.vmap(torch.func.grad(energy), (0, None))(x, w)
    return found, torch.autograd.grad((found * found).sum(), w)


@scenarios.add
def batch_of_weights_that_require_grad(torch: Any) -> Any:
    x, w = rows(torch), rows(torch, grad=True)
    found = torch.func.vmap(torch.func.grad(energy))(x, w)
    return found, torch.autograd.grad((found * found).sum(), w)


@scenarios.add
def gradient_of_a_batch_of_gradients(torch: Any) -> Any:
    x = rows(torch)

    def total(w: Any) -> Any:
        found = torch.func.vmap(torch.func.grad(energy), (0, None))(x, w)
        return (found * found).sum()

    return torch.func.grad(total)(weights(torch, grad=False))


@scenarios.add
def batch_of_second_gradients(torch: Any) -> Any:
    x, w = rows(torch), weights(torch, grad=False)

    def slope(x: Any, w: Any) -> Any:
        return (torch.func.grad(energy)(x, w) ** 2).sum()

    return torch.func.vmap(torch.func.grad(slope), (0, None))(x, w)


@scenarios.add
def gradients_in_two_batches(torch: Any) -> Any:
    x, w = rows(torch), rows(torch, grad=True)
    inner = torch.func.vmap(torch.func.grad(energy), (None, 0))
    found = torch.func.vmap(inner, (0, None))(x, w)
    return found, torch.autograd.grad((found * found).sum(), w)


@scenarios.add
def value_beside_the_gradient(torch: Any) -> Any:
    x, w = rows(torch), weights(torch)
    both = torch.func.vmap(torch.func.grad_and_value(energy), (0, None))(x, w)
    return both, torch.autograd.grad(both[1].sum(), w)


@scenarios.add
def tangent_of_a_gradient(torch: Any) -> Any:
    x, w = rows(torch)[0], weights(torch, grad=False)
    return torch.func.jvp(torch.func.grad(lambda x: energy(x, w)), (x,), (w,))


@scenarios.add
def tangent_of_a_gradient_that_requires_grad(torch: Any) -> Any:
    x, t = rows(torch)[0], weights(torch)
    ones = torch.ones(2, dtype=torch.float64)
    _, moved = torch.func.jvp(torch.func.grad(lambda x: energy(x, ones)), (x,), (t,))
    return moved, torch.autograd.grad((moved * moved).sum(), t)


@scenarios.add
def tangent_of_a_gradient_with_captured_weights(torch: Any) -> Any:
    x, w = rows(torch)[0], weights(torch)
    t = torch.ones(2, dtype=torch.float64)
    value, moved = torch.func.jvp(torch.func.grad(lambda x: energy(x, w)), (x,), (t,))
    return value, moved, torch.autograd.grad((moved * moved).sum() + value.sum(), w)


@scenarios.add
def gradient_of_a_tangent_of_a_gradient(torch: Any) -> Any:
    x = rows(torch)[0]

    def speed(t: Any, w: Any) -> Any:
        _, moved = torch.func.jvp(torch.func.grad(lambda x: energy(x, w)), (x,), (t,))
        return (moved * moved).sum()

    t = torch.ones(2, dtype=torch.float64)
    return torch.func.grad(speed, (0, 1))(t, weights(torch, grad=False))


@scenarios.add
def gradient_whose_tangent_comes_from_the_weights(torch: Any) -> Any:
    """The differentiated argument does not move: only what it is multiplied with does."""
    x, w = rows(torch)[0], weights(torch, grad=False)
    t = weights(torch)
    _, moved = torch.func.jvp(lambda w: torch.func.grad(energy)(x, w), (w,), (t,))
    return moved, torch.autograd.grad((moved * moved).sum(), t)


@scenarios.add
def hessians_in_a_batch(torch: Any) -> Any:
    x, w = rows(torch), weights(torch)
    found = torch.func.vmap(torch.func.hessian(energy), (0, None))(x, w)
    return found, torch.autograd.grad((found * found).sum(), w)


@scenarios.add
def pulled_back_in_a_batch(torch: Any) -> Any:
    x, w = rows(torch), weights(torch)

    def pulled(x: Any, c: Any) -> Any:
        _, pull = torch.func.vjp(lambda x: x.sin() * w, x)
        return pull(c)[0]

    c = rows(torch, grad=True)
    found = torch.func.vmap(pulled)(x, c)
    return found, torch.autograd.grad((found * found).sum(), (w, c))


@pytest.mark.parametrize(**scenarios.cases())
def test_history(scenario: Any) -> None:
    assert_same(torch, scenario)
