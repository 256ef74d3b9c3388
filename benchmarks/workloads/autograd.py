"""What autograd offers beyond one backward pass."""

import importlib
from typing import Any

from benchmarks.workloads.registry import Prepared, filled, set_values, workload


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


@workload("checkpointed MLP of 4 layers, forward and backward")
def checkpoint(torch: Any) -> Prepared:
    nn, recomputed = torch.nn, importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    layers: list[Any] = []
    for _ in range(4):
        layers += [nn.Linear(16, 16), nn.ReLU()]
    model = nn.Sequential(*layers)
    parameters = list(model.parameters())
    set_values(torch, parameters)
    inputs = filled(torch, 8, 16)

    def step() -> Any:
        for parameter in parameters:
            parameter.grad = None
        loss = recomputed.checkpoint(model, inputs, use_reentrant=False).sum()
        loss.backward()
        return loss

    return Prepared(step, parameters)
