"""Elementwise rules on large arrays are put off and done together: nobody can tell."""

from __future__ import annotations

import random
import threading
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from tests.core.both import needs_core, on_both, same

pytestmark = [needs_core, pytest.mark.filterwarnings("ignore::UserWarning")]

LARGE = 33_000  # enough for a chain, and no whole number of blocks
SHAPES = [(LARGE,), (150, 221), (3, 110, 101), (40,)]

ONE: dict[str, Callable[[Any], Any]] = {
    "times number": lambda x: x * 1.5,
    "plus number": lambda x: x + 0.25,
    "number minus": lambda x: 2 - x,
    "over number": lambda x: x / 3,
    "neg": lambda x: -x,
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "relu": lambda x: x.relu(),
    "exp": lambda x: x.clamp(max=3.0).exp(),
    "log": lambda x: (x.abs() + 1).log(),
    "sqrt": lambda x: (x.abs() + 1).sqrt(),
    "reciprocal": lambda x: (x.abs() + 1).reciprocal(),
    "sin": lambda x: x.sin(),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "leaky_relu": lambda x: torch.nn.functional.leaky_relu(x, 0.1),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "itself": lambda x: x * x,
    "clone": lambda x: x.clone(),
    "masked": lambda x: x.masked_fill(x > 0.5, 0.25),
    # not for a chain
    "sinh": lambda x: x.clamp(-2, 2).sinh(),
    "same mask": lambda x: x.masked_fill(x[-1] > 0.5, 0.25),
    "centred": lambda x: x - x.mean(-1, keepdim=True),
    "scaled": lambda x: x * x.detach().abs().mean(),
    "turned": lambda x: x.t().contiguous().t() if x.ndim == 2 else x.flip(0),
    "shaped": lambda x: x.reshape(-1).reshape(x.shape),
}
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "twice": lambda x, y: torch.add(x, y, alpha=2),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y.abs() + 1),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "last row": lambda x, y: x * y[-1:] if x.ndim > 1 else x * y[-1],
    "chosen": lambda x, y: torch.where(x > y, x, y),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(0.5),
    "mul_": lambda x: x.mul_(0.5),
    "relu_": lambda x: x.relu_(),
}


def values_for(shape: tuple[int, ...], dtype: str, chance: random.Random) -> Any:
    generator = np.random.default_rng(chance.randrange(1000))
    values = generator.uniform(-2, 2, shape).astype(dtype)
    if chance.random() < 0.2:
        values.reshape(-1)[:: chance.choice([7, 1001])] = chance.choice([np.nan, np.inf, -0.0])
    return values


def numbers(found: Iterable[Any]) -> list[Any]:
    """Arrays of what tensors hold. The sign of a nan is not promised: NumPy's own loops differ."""

    def read(x: Any) -> Any:
        values = x.detach().numpy().copy("K")
        values[np.isnan(values)] = np.nan
        return values

    return [read(x) if isinstance(x, torch.Tensor) else x for x in found]


def program(seed: int) -> list[Any]:
    """A random graph of elementwise ops, walked in a random way, and all that can be seen of it."""
    chance = random.Random(seed)
    shape, dtype = chance.choice(SHAPES), chance.choice(["float32", "float64"])
    leaves = [torch.from_numpy(values_for(shape, dtype, chance)) for _ in range(3)]
    for leaf in leaves:
        leaf.requires_grad_()
    made, seen, nodes = [*leaves], [], []
    for _ in range(chance.randrange(1, 14)):
        if chance.random() < 0.6:
            nodes.append(chance.choice(list(ONE)))
            result = ONE[nodes[-1]](chance.choice(made))
        else:
            nodes.append(chance.choice(list(TWO)))
            result = TWO[nodes[-1]](chance.choice(made), chance.choice(made[-2:]))
        if chance.random() < 0.1:
            nodes.append(chance.choice(list(WRITES)))
            result = WRITES[nodes[-1]](result.clone())
        if chance.random() < 0.1:
            result.retain_grad()
        if chance.random() < 0.1:
            result.register_hook(lambda g: seen.append((g, [x.grad is None for x in leaves])))
        made.append(result)
    reduced = chance.choice(["sum", "mean", "none"])
    last = made[-1] + chance.choice(made)
    loss = last if reduced == "none" else getattr(last, reduced)()
    if chance.random() < 0.1:
        with torch.no_grad():
            chance.choice(made).mul_(2)  # what was saved may be another now
    gradient = torch.from_numpy(values_for(shape, dtype, chance)) if reduced == "none" else None
    for _ in range(chance.choice([1, 1, 2])):
        outcome = walked(loss, leaves, made, gradient, chance)
        seen.append(outcome)
    kept = [*made, gradient] if chance.random() < 0.5 else []
    parts = [part for found in seen for part in (found if isinstance(found, tuple) else [found])]
    return numbers([*parts, *[x.grad for x in leaves], *[x.grad for x in made], *kept, nodes])


def walked(loss: Any, leaves: Any, made: Any, gradient: Any, chance: random.Random) -> Any:
    way = chance.choice(["backward", "backward", "retained", "grad", "inputs", "second"])
    some = chance.sample(made, min(len(made), 2))
    try:
        if way == "grad":
            return tuple(numbers(torch.autograd.grad(loss, some, gradient, allow_unused=True)))
        if way == "inputs":
            loss.backward(gradient, inputs=some)
        elif way == "second":
            (first,) = torch.autograd.grad(loss, leaves[:1], gradient, create_graph=True)
            (first * first).sum().backward()
        else:
            loss.backward(gradient, retain_graph=way == "retained")
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return way


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_random_graphs(seed: int) -> None:
    with np.errstate(all="ignore"):
        compiled, python = on_both(lambda: program(seed))
    assert same(compiled, python)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [3, 63, 64, 65, 200])
def test_long_chains(length: int, dtype: str) -> None:
    """More steps than are put off at a time."""

    def run() -> Any:
        x = torch.linspace(-1, 1, LARGE, dtype=getattr(torch, dtype)).requires_grad_()
        y = x
        for number in range(length):
            y = (y * 1.01).tanh() if number % 2 else y - x
        y.mean().backward()
        return x.grad.numpy()

    assert same(*on_both(run))


def test_wide_graphs() -> None:
    """More values at once than there is scratch for."""

    def run() -> Any:
        x = torch.linspace(-1, 1, LARGE).requires_grad_()
        branches = [x * (number + 1) for number in range(40)]
        products = [branch * branch for branch in branches]
        total = products[0]
        for product in products[1:]:
            total = total + product
        total.sum().backward()
        return x.grad.numpy()

    assert same(*on_both(run))


def test_several_sums() -> None:
    """More constants than there is scratch for, and constants that somebody keeps."""

    def run() -> list[Any]:
        xs = [torch.linspace(-1, 1, LARGE).requires_grad_() for _ in range(20)]
        loss = sum([x.sum() + (x * 2).mean() for x in xs], torch.zeros(()))
        loss.backward()
        return numbers([x.grad for x in xs])

    assert same(*on_both(run))


def test_what_lies_between_gets_no_memory() -> None:
    x = torch.linspace(-1, 1, 100_000).requires_grad_()
    y = x * 1.5
    for _ in range(6):
        y = (y * 1.01 + 0.1).tanh() * x
    loss = y.mean()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (peak - before) / x.grad.numpy().nbytes < 1.5  # nothing but `x.grad`


def test_memory_of_what_somebody_holds_stays() -> None:
    """A chain ends in the memory of a saved array that nobody has: this one is held as an array."""
    x = torch.linspace(-1, 1, LARGE).requires_grad_()
    middle = x.tanh()
    held = middle.detach().numpy()
    before = held.copy()
    (middle * 2).sum().backward()
    assert held.tobytes() == before.tobytes()
    del middle
    assert held.tobytes() == before.tobytes()


def test_an_error_leaves_what_came_before_it() -> None:
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            raise ValueError("no")

    def run() -> list[Any]:
        x, y = (torch.linspace(-1, 1, LARGE).requires_grad_() for _ in range(2))
        later = Failing.apply(x) * 3 * y
        with pytest.raises(ValueError, match="no"):
            (later - y).sum().backward()
        return [x.grad is None, y.grad is None or y.grad.numpy()]

    assert same(*on_both(run))


def test_walks_in_several_threads() -> None:
    x = torch.linspace(-1, 1, LARGE)
    found: list[Any] = [None] * 4

    def work(place: int) -> None:
        for _ in range(10):
            own = x.clone().requires_grad_()
            ((own * 1.5 + 0.25).relu() * own).mean().backward()
            assert own.grad is not None
            found[place] = own.grad.numpy()

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(found[0], other) for other in found[1:])
