"""The workloads: each is written once, against a module called `torch`.

A workload is a function that takes the module (PyTorch or retrograd), prepares its tensors and
returns a `Prepared`: the step to time and the leaf tensors it changes. Inputs come from plain
formulas, never from a random generator, so that both sides start from the same values.
"""

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True)
class Prepared:
    """A step that returns its result, and the leaves whose values and gradients it changes."""

    step: Callable[[], Any]
    leaves: Sequence[Any]


@dataclass(frozen=True)
class Workload:
    """A named workload; `prepare(torch)` builds it anew."""

    name: str
    title: str
    prepare: Callable[[Any], Prepared]


WORKLOADS: dict[str, Workload] = {}


def workload(title: str) -> Callable[[Callable[[Any], Prepared]], Callable[[Any], Prepared]]:
    """Register a `prepare` function under its own name."""

    def register(prepare: Callable[[Any], Prepared]) -> Callable[[Any], Prepared]:
        WORKLOADS[prepare.__name__] = Workload(prepare.__name__, title, prepare)
        return prepare

    return register


@workload("add with grad, 4 elements")
def add(torch: Any) -> Prepared:
    left = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    right = torch.tensor([0.5, 0.25, -0.5, -0.25], requires_grad=True)

    def step() -> Any:
        return left + right

    return Prepared(step, [left, right])


@workload("50-op chain, 4 elements")
def chain(torch: Any) -> Prepared:
    factor = torch.tensor([0.9, 0.8, 1.1, 0.7], requires_grad=True)
    offset = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)

    def step() -> Any:
        factor.grad = None
        offset.grad = None
        value = factor
        for _ in range(25):
            value = value * factor
            value = value + offset
        total = value.sum()
        total.backward()
        return total

    return Prepared(step, [factor, offset])


@workload("linear regression step")
def regression(torch: Any) -> Prepared:
    inputs = torch.tensor([[0.1 * row, 1.0 - 0.05 * row, (row % 5) * 0.2] for row in range(32)])
    targets = torch.tensor([[0.3 * row - (row % 3)] for row in range(32)])
    weight = torch.tensor([[0.1], [0.2], [0.3]], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)

    def step() -> Any:
        difference = inputs @ weight + bias - targets
        loss = (difference * difference).mean()
        loss.backward()
        with torch.no_grad():
            weight.sub_(0.01 * weight.grad)
            bias.sub_(0.01 * bias.grad)
        weight.grad = None
        bias.grad = None
        return loss

    return Prepared(step, [weight, bias])


@workload("broadcast chain, 32 x 32")
def broadcast(torch: Any) -> Prepared:
    positions = [0.03 * index - 0.5 for index in range(32)]
    column = torch.tensor([[value] for value in positions], requires_grad=True)
    row = torch.tensor([positions], requires_grad=True)
    vector = torch.tensor(positions, requires_grad=True)
    scale = torch.tensor(0.75, requires_grad=True)
    leaves = [column, row, vector, scale]

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        value = column * row
        for _ in range(4):
            value = (value + vector) * scale
            value = value * column - row
        total = value.sum()
        total.backward()
        return total

    return Prepared(step, leaves)


@workload("elementwise chain, 4M elements")
def large(torch: Any) -> Prepared:
    count = 4_000_000
    values = torch.from_numpy(numpy.linspace(-1.0, 1.0, count, dtype=numpy.float32))
    values.requires_grad_()

    def step() -> Any:
        values.grad = None
        shifted = values * 1.5 + 0.25
        squared = shifted * shifted
        total = (squared.relu() * shifted - values).mean()
        total.backward()
        return total

    return Prepared(step, [values])


@workload("double backward, 8 elements")
def double_backward(torch: Any) -> Prepared:
    point = torch.tensor([0.1 * index + 0.2 for index in range(8)], requires_grad=True)
    weight = torch.tensor([1.0 - 0.1 * index for index in range(8)], requires_grad=True)

    def step() -> Any:
        point.grad = None
        weight.grad = None
        energy = (point * point * point * weight).sum()
        (slope,) = torch.autograd.grad(energy, point, create_graph=True)
        penalty = (slope * slope).sum()
        penalty.backward()
        return penalty

    return Prepared(step, [point, weight])


@workload("MLP(10, 5, 1) + Adam step")
def mlp_adam(torch: Any) -> Prepared:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 1))
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter in parameters:
            count = parameter.numel()
            values = [((7 * index) % 11 - 5) / 10 for index in range(count)]
            parameter.copy_(torch.tensor(values).reshape(parameter.shape))
    inputs = torch.tensor([[((3 * i + 5 * j) % 7) / 7 for j in range(10)] for i in range(8)])
    targets = torch.tensor([[(i % 3) * 0.5] for i in range(8)])
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(parameters, lr=0.001)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return Prepared(step, parameters)


def filled(torch: Any, *shape: int, scale: float = 0.1) -> Any:
    """A tensor of small numbers of both signs, the same ones each time."""
    count = math.prod(shape)
    values = [((7 * index) % 11 - 5) * scale for index in range(count)]
    return torch.tensor(values).reshape(shape)


@workload("custom Function, apply and backward, 4 elements")
def function(torch: Any) -> Prepared:
    class Squared(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, values: Any) -> Any:
            ctx.save_for_backward(values)
            return values * values

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (values,) = ctx.saved_tensors
            return 2 * values * gradient

    point = torch.tensor([1.0, -2.0, 0.5, 4.0], requires_grad=True)
    seed = torch.tensor([1.0, 0.5, 0.25, 2.0])

    def step() -> Any:
        point.grad = None
        result = Squared.apply(point)
        result.backward(seed)
        return result

    return Prepared(step, [point])


@workload("20-op chain with a hook on every tensor, 4 elements")
def hooks(torch: Any) -> Prepared:
    factor = torch.tensor([0.9, 0.8, 1.1, 0.7], requires_grad=True)
    offset = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)

    def halve(gradient: Any) -> Any:
        return gradient * 0.5

    def step() -> Any:
        factor.grad = None
        offset.grad = None
        value = factor
        for _ in range(10):
            value = value * factor
            value.register_hook(halve)
            value = value + offset
            value.register_hook(halve)
        total = value.sum()
        total.backward()
        return total

    return Prepared(step, [factor, offset])


@workload("20-op chain under saved-tensor hooks, 4 elements")
def saved_hooks(torch: Any) -> Prepared:
    factor = torch.tensor([0.9, 0.8, 1.1, 0.7], requires_grad=True)
    offset = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)

    def pack(tensor: Any) -> Any:
        return tensor

    def unpack(packed: Any) -> Any:
        return packed

    def step() -> Any:
        factor.grad = None
        offset.grad = None
        value = factor
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            for _ in range(10):
                value = value * factor
                value = value + offset
            total = value.sum()
        total.backward()
        return total

    return Prepared(step, [factor, offset])


@workload("func.jvp of a 20-op chain, 10 elements")
def jvp(torch: Any) -> Prepared:
    point = filled(torch, 10)
    tangent = filled(torch, 10, scale=0.3)

    def chained(values: Any) -> Any:
        result = values
        for _ in range(5):
            result = torch.sin(result) * values + torch.exp(-result)
        return result

    def step() -> Any:
        _, change = torch.func.jvp(chained, (point,), (tangent,))
        return change

    return Prepared(step, [])


@workload("Hessian-vector product of an MLP, reverse over reverse")
def hvp(torch: Any) -> Prepared:
    inputs, targets = filled(torch, 8, 10), filled(torch, 8, 1)
    weights = [filled(torch, 10, 5), filled(torch, 5), filled(torch, 5, 1)]
    for weight in weights:
        weight.requires_grad_()
    directions = [filled(torch, *weight.shape, scale=0.2) for weight in weights]

    def step() -> Any:
        first, bias, second = weights
        difference = torch.tanh(inputs @ first + bias) @ second - targets
        loss = (difference * difference).mean()
        slopes = torch.autograd.grad(loss, weights, create_graph=True)
        along = sum([(s * d).sum() for s, d in zip(slopes, directions, strict=True)])
        products = torch.autograd.grad(along, weights)
        return torch.cat([product.reshape(-1) for product in products])

    return Prepared(step, weights)


@workload("Hessian-vector product of an MLP, func.jvp of func.grad")
def hvp_forward(torch: Any) -> Prepared:
    inputs, targets = filled(torch, 8, 10), filled(torch, 8, 1)
    weights = (filled(torch, 10, 5), filled(torch, 5), filled(torch, 5, 1))
    directions = tuple(filled(torch, *weight.shape, scale=0.2) for weight in weights)

    def loss(first: Any, bias: Any, second: Any) -> Any:
        difference = torch.tanh(inputs @ first + bias) @ second - targets
        return (difference * difference).mean()

    slope = torch.func.grad(loss, argnums=(0, 1, 2))

    def step() -> Any:
        _, products = torch.func.jvp(slope, weights, directions)
        return torch.cat([product.reshape(-1) for product in products])

    return Prepared(step, [])


@workload("per-sample gradients of an MLP(10, 32, 1), 64 examples")
def per_sample(torch: Any) -> Prepared:
    nn, func = torch.nn, torch.func
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    weights = {
        name: filled(torch, *parameter.shape) for name, parameter in model.named_parameters()
    }
    inputs, targets = filled(torch, 64, 10), filled(torch, 64, 1)

    def loss(values: Any, example: Any, target: Any) -> Any:
        difference = func.functional_call(model, values, (example,)) - target
        return (difference * difference).sum()

    slopes = func.vmap(func.grad(loss), in_dims=(None, 0, 0))

    def step() -> Any:
        found = slopes(weights, inputs, targets)
        return torch.cat([found[name].reshape(64, -1) for name in weights], dim=1)

    return Prepared(step, [])


@workload("func.jacrev of an MLP(20, 20, 20)")
def jacobian(torch: Any) -> Prepared:
    first, second = filled(torch, 20, 20), filled(torch, 20, 20)
    point = filled(torch, 20)

    def layers(values: Any) -> Any:
        return torch.tanh(values @ first) @ second

    slopes = torch.func.jacrev(layers)

    def step() -> Any:
        return slopes(point)

    return Prepared(step, [])


@workload("checkpointed MLP of 4 layers, forward and backward")
def checkpoint(torch: Any) -> Prepared:
    nn, recomputed = torch.nn, importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    layers: list[Any] = []
    for _ in range(4):
        layers += [nn.Linear(16, 16), nn.ReLU()]
    model = nn.Sequential(*layers)
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter in parameters:
            parameter.copy_(filled(torch, *parameter.shape))
    inputs = filled(torch, 8, 16)

    def step() -> Any:
        for parameter in parameters:
            parameter.grad = None
        loss = recomputed.checkpoint(model, inputs, use_reentrant=False).sum()
        loss.backward()
        return loss

    return Prepared(step, parameters)
