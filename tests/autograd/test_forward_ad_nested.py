"""Levels inside of levels: derivatives of derivatives, against formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.transforms.forward import (
    active_levels,
    make_dual,
    pop_level,
    push_level,
    tangent_of,
    unpack_dual,
)


def derivative(function: Callable[[Any], Any], value: Any, direction: Any) -> Any:
    """The derivative of a function in a direction, by a level of its own."""
    level = push_level()
    try:
        result = function(make_dual(value, direction, level))
        tangent = unpack_dual(result, level)[1]
        return rg.zeros_like(result) if tangent is None else tangent
    finally:
        pop_level(level)


def nth(function: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    if order == 0:
        return function
    inner = nth(function, order - 1)
    return lambda x: derivative(inner, x, rg.ones_like(x))


def written(x: Any) -> Any:
    """x**5 / 2 by writes into views."""
    whole = rg.zeros(2, 3, dtype=rg.float64)
    whole[0] = x
    whole[1].add_(x * x)
    whole.view(6)[:3].mul_(whole[1])
    first = whole[0].clone()
    first.mul_(x).mul_(x).div_(2)
    return first


POINTS = rg.tensor([0.4, 0.9, 1.3], dtype=rg.float64)
x = POINTS.numpy()
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "power": (lambda t: t**4, [x**4, 4 * x**3, 12 * x**2, 24 * x]),
    "product": (lambda t: t * t * t, [x**3, 3 * x**2, 6 * x, 6 + 0 * x]),
    "sine": (lambda t: (2 * t).sin(), [
        np.sin(2 * x), 2 * np.cos(2 * x), -4 * np.sin(2 * x), -8 * np.cos(2 * x)]),
    "exponential": (lambda t: t.exp().exp().log(), [np.exp(x)] * 4),
    "logarithm": (lambda t: t.log(), [np.log(x), 1 / x, -1 / x**2, 2 / x**3]),
    "transposed rules": (lambda t: rg.outer(t, t).diagonal().cumsum(0) - (t * t).cumsum(0) + t**3,
                         [x**3, 3 * x**2, 6 * x, 6 + 0 * x]),
    "writes": (written, [x**5 / 2, 2.5 * x**4, 10 * x**3, 30 * x**2]),
    "softmax": (lambda t: rg.stack([t, 0 * t]).softmax(0)[0].logit() * t**2,
                [x**3, 3 * x**2, 6 * x, 6 + 0 * x]),
}  # fmt: skip


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_orders(name: str, order: int) -> None:
    function, expected = FUNCTIONS[name]
    found = nth(function, order)(POINTS)
    np.testing.assert_allclose(found.numpy(), expected[order], rtol=1e-10, atol=1e-12)
    assert active_levels() == ()


def test_no_confusion_of_perturbations() -> None:
    """d/dx (x * d/dy (x + y)) is 1, not 2."""
    one = rg.tensor(1.0)
    found = derivative(lambda x: x * derivative(lambda y: x + y, one, one), one, one)
    assert found.item() == 1.0


def test_outer_tangent_of_inner_direction() -> None:
    """The inner direction may itself move: d/dx of x**2 in direction x is 2 x x, so 4 x further."""
    found = derivative(lambda x: derivative(lambda y: y**2, x, x), rg.tensor(3.0), rg.tensor(1.0))
    assert found.item() == 12.0


def test_reverse_through_two_levels() -> None:
    value = POINTS.clone().requires_grad_()
    second = nth(lambda t: t**4, 2)(value)
    (third,) = rg.autograd.grad(second.sum(), value, create_graph=True)
    np.testing.assert_allclose(third.detach().numpy(), 24 * x, rtol=1e-10)
    (fourth,) = rg.autograd.grad(third.sum(), value)
    np.testing.assert_allclose(fourth.numpy(), 24 + 0 * x, rtol=1e-10)


def test_levels_over_reverse() -> None:
    def gradient(point: Any) -> Any:
        leaf = point.detach().requires_grad_() if not active_levels() else point
        if not leaf.requires_grad:
            leaf.requires_grad_()
        return rg.autograd.grad((leaf**5).sum(), leaf, create_graph=True)[0]

    np.testing.assert_allclose(nth(gradient, 2)(POINTS).detach().numpy(), 60 * x**2, rtol=1e-10)


def test_inner_level_is_forgotten() -> None:
    outer, inner = push_level(), push_level()
    try:
        dual = make_dual(rg.ones(2), rg.full((2,), 3.0), outer)
        both = make_dual(dual, rg.full((2,), 5.0), inner)
        result = both * both
        assert tangent_of(result, outer).tolist() == [6.0, 6.0]
        tangent = tangent_of(result, inner)
        assert tangent.tolist() == [10.0, 10.0]
        assert tangent_of(tangent, outer).tolist() == [30.0, 30.0]
        assert tangent_of(tangent, inner) is None
        pop_level(inner)
        assert tangent_of(result, inner) is None
        assert tangent_of(result, outer).tolist() == [6.0, 6.0]
    finally:
        for level in (inner, outer):
            if level.alive:
                pop_level(level)
