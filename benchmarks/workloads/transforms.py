"""The function transforms of `torch.func`."""

from typing import Any

from benchmarks.workloads.registry import Prepared, filled, workload


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
