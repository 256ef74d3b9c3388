"""Rules may compute in the memory of the gradient that they get; who still has it never sees it."""

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from tests.core.both import needs_core, on_both, same

pytestmark = needs_core

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, y: x * y,
    "mul by itself": lambda x, y: x * x,
    "div": lambda x, y: x / y,
    "sub": lambda x, y: x - y,
    "neg": lambda x, y: -x,
    "tanh": lambda x, y: x.tanh(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "relu": lambda x, y: x.relu(),
    "clamp": lambda x, y: x.clamp(-0.5, 0.5),
    "leaky_relu": lambda x, y: torch.nn.functional.leaky_relu(x, 0.1),
    "square": lambda x, y: x**2,
    "addcmul": lambda x, y: torch.addcmul(x, x, y),
    "sin": lambda x, y: x.sin(),
}
HOLDERS = ("nobody", "root", "retained", "hook", "captured", "both operands")


@pytest.mark.parametrize("shape", [(4, 6), (180, 190)])  # computed at once, and put off
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_who_holds_a_gradient_keeps_its_values(
    name: str, holder: str, shape: tuple[int, int]
) -> None:
    def program() -> list[Any]:
        values = torch.linspace(-1.0, 2.0, shape[0] * shape[1]).reshape(shape)
        x, y = values.clone().requires_grad_(), (values + 3).requires_grad_()
        kept: list[Any] = []
        middle = x * 1.5
        result = FUNCTIONS[name](middle, y)
        if holder == "both operands":
            result = result + FUNCTIONS[name](middle * 1.0, y)
        last = result * 3
        given = torch.linspace(1.0, 4.0, shape[0] * shape[1]).reshape(shape)
        if holder == "retained":
            for tensor in (middle, result, last):
                tensor.retain_grad()
        if holder == "hook":
            for tensor in (middle, result, last):
                tensor.register_hook(kept.append)
        if holder == "captured":
            kept += torch.autograd.grad(last, (result, middle, x), given, retain_graph=True)
        last.backward(given.clone() if holder == "nobody" else given)
        kept += [given, x.grad, y.grad]
        if holder == "retained":
            kept += [middle.grad, result.grad, last.grad]
        return [None if tensor is None else tensor.detach().numpy() for tensor in kept]

    compiled, python = on_both(program)
    assert same(compiled, python)
