"""Modules as functions, and transforms over them, told the same way by PyTorch and retrograd."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()
errors = Scenarios()


def filled(torch: Any, module: Any, seed: int = 0) -> Any:
    """The module in double precision, with the same numbers in both libraries."""
    generator = np.random.default_rng(seed)
    module = module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.tensor(generator.normal(size=tuple(parameter.shape))))
    return module


def network(torch: Any, seed: int = 0) -> Any:
    nn = torch.nn
    return filled(torch, nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), seed)


def data(torch: Any, *shape: int, seed: int = 7) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def scaled(torch: Any) -> Any:
    """A module with a buffer that its forward changes, and a tied parameter."""

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.inner = torch.nn.Linear(3, 3)
            self.inner.bias = self.weight
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any, shift: float = 0.0) -> Any:
            self.count = self.count + 1
            return self.inner(x) * self.weight + self.count + shift

    return filled(torch, Scaled())


# -------------------------------------------------------------------------------------- calling


@scenarios.add
def call(torch: Any) -> Any:
    module = network(torch)
    state = {name: value.detach() * 2 for name, value in module.named_parameters()}
    x = data(torch, 5, 3)
    part = {"2.bias": torch.zeros(2, dtype=torch.float64)}
    return (
        torch.func.functional_call(module, state, x),
        torch.func.functional_call(module, state, (x,)),
        torch.func.functional_call(module, part, x),
        torch.func.functional_call(module, (part, {"0.bias": state["0.bias"]}), (x,)),
        torch.func.functional_call(module, {}, x),
        module(x),
    )


@scenarios.add
def call_with_keywords(torch: Any) -> Any:
    module = scaled(torch)
    x = data(torch, 3)
    return (
        torch.func.functional_call(module, {}, x, {"shift": 2.0}),
        torch.func.functional_call(module, {}, None, {"x": x, "shift": 3.0}),
    )


@scenarios.add
def what_the_module_writes(torch: Any) -> Any:
    module = scaled(torch)
    given = {"count": torch.tensor(10.0, dtype=torch.float64)}
    out = torch.func.functional_call(module, given, data(torch, 3))
    return out, given, module.count


@scenarios.add
def tied_names(torch: Any) -> Any:
    x, other = data(torch, 3), data(torch, 3, seed=9)
    found = []
    for given in ({"weight": other}, {"inner.bias": other}, {"weight": x, "inner.bias": x}):
        module = scaled(torch)
        found.append(torch.func.functional_call(module, given, x))
        module = scaled(torch)
        found.append(torch.func.functional_call(module, given, x, tie_weights=False))
        found.append(module.inner.bias is module.weight)
    module = scaled(torch)
    different = {"weight": x, "inner.bias": other}
    found.append(torch.func.functional_call(module, different, x, tie_weights=False))
    return found


@scenarios.add
def state_comes_back(torch: Any) -> Any:
    module = network(torch)
    before = list(module.parameters())

    class Stop(Exception):
        pass

    def fail(*_: Any) -> None:
        raise Stop

    module[2].register_forward_pre_hook(fail)
    zero = {"0.weight": torch.zeros(4, 3, dtype=torch.float64)}
    try:
        torch.func.functional_call(module, zero, data(torch, 3))
    except Stop:
        pass
    return all(a is b for a, b in zip(before, module.parameters(), strict=True))


@scenarios.add
def strict_names(torch: Any) -> Any:
    module = network(torch)
    state = dict(module.named_parameters())
    return torch.func.functional_call(module, state, data(torch, 3), strict=True)


@scenarios.add
def old_place(torch: Any) -> Any:
    module = network(torch)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = torch.nn.utils.stateless.functional_call(module, {}, data(torch, 3))
    return found, [(w.category.__name__, str(w.message)) for w in seen]


# ------------------------------------------------------------------------------------ transforms


def loss_of(torch: Any, module: Any) -> Any:
    def loss(state: Any, x: Any, y: Any) -> Any:
        out = torch.func.functional_call(module, state, (x,))
        return ((out - y) ** 2).mean()

    return loss


@scenarios.add
def gradients_of_parameters(torch: Any) -> Any:
    module = network(torch)
    x, y = data(torch, 5, 3), data(torch, 5, 2, seed=8)
    state = dict(module.named_parameters())
    loose = {name: value.detach() for name, value in state.items()}
    loss = loss_of(torch, module)
    found = torch.func.grad(loss)(state, x, y)
    return (
        found,
        torch.func.grad_and_value(loss)(loose, x, y),
        [parameter.grad for parameter in module.parameters()],
    )


@scenarios.add
def per_sample_gradients(torch: Any) -> Any:
    module = network(torch)
    x, y = data(torch, 5, 3), data(torch, 5, 2, seed=8)
    state = {name: value.detach() for name, value in module.named_parameters()}
    each = torch.func.vmap(torch.func.grad(loss_of(torch, module)), in_dims=(None, 0, 0))
    return each(state, x, y)


@scenarios.add
def ensemble(torch: Any) -> Any:
    models = [network(torch, seed) for seed in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    base = copy.deepcopy(models[0])

    def run(parameters: Any, buffers: Any, x: Any) -> Any:
        return torch.func.functional_call(base, (parameters, buffers), (x,))

    x = data(torch, 5, 3)
    out = torch.func.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    out.sum().backward()
    gradients = {name: value.grad for name, value in parameters.items()}
    return parameters, buffers, out, gradients, [p.is_leaf for p in parameters.values()]


@scenarios.add
def learning_to_learn(torch: Any) -> Any:
    module = network(torch)
    state = dict(module.named_parameters())
    x, y = data(torch, 4, 5, 3), data(torch, 4, 5, 2, seed=8)
    loss = loss_of(torch, module)

    def after_one_step(x: Any, y: Any) -> Any:
        gradients = torch.func.grad(loss)(state, x, y)
        moved = {name: value - 0.1 * gradients[name] for name, value in state.items()}
        return loss(moved, x, y)

    losses = torch.func.vmap(after_one_step)(x, y)
    return losses, torch.autograd.grad(losses.sum(), list(state.values()))


@scenarios.add
def hessian_of_parameters(torch: Any) -> Any:
    module = filled(torch, torch.nn.Linear(3, 1))
    state = {name: value.detach() for name, value in module.named_parameters()}
    x, y = data(torch, 5, 3), data(torch, 5, 1, seed=8)
    return torch.func.hessian(loss_of(torch, module))(state, x, y)


# -------------------------------------------------------------------------------------- errors


def error(function: Any) -> None:
    """Add a scenario that ends with an error: ``function(torch, func, x)``."""

    def scenario(torch: Any) -> Any:
        return function(torch, torch.func, data(torch, 3))

    scenario.__name__ = f"error_{len(errors)}"
    errors.append(scenario)


error(lambda torch, func, x: func.functional_call(network(torch), 1.0, x))
error(lambda torch, func, x: func.functional_call(network(torch), [{}, 1.0], x))
error(
    lambda torch, func, x: func.functional_call(network(torch), ({"0.bias": x}, {"0.bias": x}), x)
)
error(lambda torch, func, x: func.functional_call(network(torch), {"0.bias": 1.0}, x))
error(lambda torch, func, x: func.functional_call(network(torch), {"0.nothing": x}, x, strict=True))
error(lambda torch, func, x: func.functional_call(network(torch), {"9.bias": x}, x))
error(lambda torch, func, x: func.functional_call(network(torch), {"0.weight.bias": x}, x))
error(
    lambda torch, func, x: func.functional_call(
        scaled(torch), {"weight": x, "inner.bias": x * 2}, x
    )
)
error(lambda torch, func, x: func.stack_module_state([]))
error(lambda torch, func, x: func.stack_module_state([network(torch), network(torch).eval()]))
error(lambda torch, func, x: func.stack_module_state([network(torch), scaled(torch)]))


@errors.add
def mixed_flags(torch: Any) -> Any:
    models = [network(torch), network(torch)]
    models[0][0].weight.requires_grad_(False)
    return torch.func.stack_module_state(models)


@pytest.mark.parametrize(**scenarios.cases())
def test_scenario(scenario: Any) -> None:
    assert_same(torch, scenario)


@pytest.mark.parametrize(**errors.cases())
def test_error(scenario: Any) -> None:
    assert_same(torch, scenario)


def test_all_names() -> None:
    assert set(retrograd.func.__all__) == set(torch.func.__all__)
    for name in retrograd.func.__all__:
        assert getattr(retrograd.func, name).__doc__


def test_functionalize_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"torch\.func\.functionalize is not supported"):
        retrograd.func.functionalize(retrograd.sin)


def test_debug_unwrap() -> None:
    seen = []

    def look(x: Any) -> Any:
        seen.append(retrograd.func.debug_unwrap(x))
        seen.append(retrograd.func.debug_unwrap(x, recurse=False).shape)
        return x

    x = retrograd.ones(2, 3, 4)
    retrograd.func.vmap(retrograd.func.vmap(look))(x)
    assert seen[0] is x and seen[1] == (3, 4)
    assert retrograd.func.debug_unwrap(x) is x
