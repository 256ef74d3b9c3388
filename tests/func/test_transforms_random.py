"""Random towers of transforms, told the same way by PyTorch and retrograd.

A function takes a vector and gives a vector of the same size. A transform makes another such
function of it, in a way that uses the function's derivatives or a batch of its values.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.func.sides import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SIZE = 3


class World:
    """What the functions of one run capture."""

    def __init__(self, torch: Any, *, grad: bool) -> None:
        self.torch = torch
        values = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)
        self.weight = (values * 1.3).requires_grad_(grad)
        self.vector = values + 0.2
        self.rows = torch.outer(values, values + 1) + 0.1

    def sine(self, x: Any) -> Any:
        return x.sin() * x.sum()

    def product(self, x: Any) -> Any:
        return self.rows @ (x.tanh() * self.weight)

    def written(self, x: Any) -> Any:
        y = x * 2
        y[1:].mul_(x[:-1])
        y[0] = self.weight[2] * x[1]
        return y.exp_() * 0.1

    def views(self, x: Any) -> Any:
        return x.reshape(1, -1).expand(2, SIZE).t().sum(1) * x.flip(0)

    def running(self, x: Any) -> Any:
        return (x * x).cumsum(0).softmax(0) * self.weight.sum()

    def parts(self, x: Any) -> Any:
        left, right = x.split([1, SIZE - 1])
        return self.torch.cat([right.cos(), left * self.vector[0]])


BASES = ("sine", "product", "written", "views", "running", "parts")
Function = Callable[[Any], Any]


def by_grad(world: World, f: Function) -> Function:
    return lambda x: world.torch.func.grad(lambda y: f(y).sum())(x)


def by_grad_of_product(world: World, f: Function) -> Function:
    return lambda x: world.torch.func.grad(lambda y: (f(y) * x * world.weight).sum())(x)


def by_vjp(world: World, f: Function) -> Function:
    return lambda x: world.torch.func.vjp(f, x)[1](world.vector)[0]


def by_vjp_of_itself(world: World, f: Function) -> Function:
    def made(x: Any) -> Any:
        value, pull = world.torch.func.vjp(f, x)
        return pull(value)[0] + value * 0.1

    return made


def by_jvp(world: World, f: Function) -> Function:
    return lambda x: world.torch.func.jvp(f, (x,), (world.vector,))[1]


def by_jvp_along_itself(world: World, f: Function) -> Function:
    def made(x: Any) -> Any:
        value, moved = world.torch.func.jvp(f, (x,), (x * world.weight,))
        return value * 0.1 + moved

    return made


def by_jvp_of_two(world: World, f: Function) -> Function:
    def both(x: Any, y: Any) -> Any:
        return f(x) * y + f(y) * x

    def made(x: Any) -> Any:
        return world.torch.func.jvp(both, (x, world.vector), (world.weight, x))[1]

    return made


def by_vmap(world: World, f: Function) -> Function:
    def made(x: Any) -> Any:
        scales = world.vector
        return world.torch.func.vmap(lambda s: f(x * s), out_dims=1)(scales).sum(1)

    return made


def by_vmap_over_rows(world: World, f: Function) -> Function:
    def made(x: Any) -> Any:
        rows = world.torch.stack([x, x * 0.5])
        return world.torch.func.vmap(f)(rows).sum(0)

    return made


def by_vmap_beside(world: World, f: Function) -> Function:
    def made(x: Any) -> Any:
        each = world.torch.func.vmap(lambda y, row: f(y) * row, in_dims=(None, 1))
        return each(x, world.rows).sum(0)

    return made


def by_jacrev(world: World, f: Function) -> Function:
    return lambda x: world.torch.func.jacrev(f)(x) @ world.vector


def by_jacrev_in_chunks(world: World, f: Function) -> Function:
    return lambda x: world.torch.func.jacrev(f, chunk_size=2)(x).sum(0)


def by_jacfwd(world: World, f: Function) -> Function:
    return lambda x: world.vector @ world.torch.func.jacfwd(f)(x)


def without_grad(world: World, f: Function) -> Function:
    def made(x: Any) -> Any:
        with world.torch.no_grad():
            hidden = f(x)
        return hidden * x

    return made


def detached(world: World, f: Function) -> Function:
    return lambda x: f(x.detach()) * x + f(x).detach()


def twice(world: World, f: Function) -> Function:
    return lambda x: f(x) + f(x * world.weight).sin()


TRANSFORMS = (
    *(by_grad, by_grad_of_product, by_vjp, by_vjp_of_itself, by_jvp, by_jvp_along_itself),
    *(by_vmap, by_vmap_over_rows, by_vmap_beside, by_jacrev, by_jacrev_in_chunks, by_jacfwd),
    *(by_jvp_of_two, without_grad, detached, twice),
)


# of 80 PyTorch says that its tensors of zeros are immutable
@pytest.mark.parametrize("seed", [seed for seed in range(121) if seed != 80])
def test_towers(seed: int) -> None:
    choose = random.Random(seed)
    base = choose.choice(BASES)
    tower = [choose.choice(TRANSFORMS) for _ in range(choose.choice([1, 2, 2, 3, 3]))]
    flags = choose.random() < 0.5, choose.random() < 0.5

    def scenario(torch: Any) -> Any:
        world = World(torch, grad=flags[0])
        x = torch.tensor([0.4, -0.2, 0.9], dtype=torch.float64, requires_grad=flags[1])
        function: Function = getattr(world, base)
        for transform in tower:
            function = transform(world, function)
        value = function(x)
        leaves = [leaf for leaf in (x, world.weight) if leaf.requires_grad]
        if not leaves:
            return value  # nothing outside requires grad, so the result does not
        # where a gradient is zero PyTorch may record a graph for the zeros
        if not value.requires_grad:
            return value, [torch.zeros_like(leaf) for leaf in leaves]
        gradients = torch.autograd.grad(value.sum(), leaves, materialize_grads=True)
        return value.detach(), list(gradients)

    assert_same(torch, scenario)
