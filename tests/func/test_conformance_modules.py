"""Modules under transforms and `torch.autograd.functional`, where PyTorch's own tests look."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.func.attempts import attempt, each, numbers, tried
from tests.func.sides import Scenarios, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

scenarios = Scenarios()


def linear(torch: Any, inputs: int, outputs: int, seed: int = 0) -> Any:
    made = torch.nn.Linear(inputs, outputs).double()
    with torch.no_grad():
        made.weight.copy_(numbers(torch, outputs, inputs, seed=seed))
        made.bias.copy_(numbers(torch, outputs, seed=seed + 1))
    return made


@cache
def network_class(torch: Any) -> Any:
    class Network(torch.nn.Module):
        def __init__(self, seed: int) -> None:
            super().__init__()
            self.first = linear(torch, 3, 4, seed)
            self.second = linear(torch, 4, 2, seed + 3)
            self.register_buffer("shift", numbers(torch, 2, seed=seed + 5))

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return self.second(torch.tanh(self.first(x))) * scale + self.shift

    return Network


def network(torch: Any, seed: int = 0) -> Any:
    return network_class(torch)(seed)


def state(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {k: v.detach() for k, v in model.named_parameters()}, dict(model.named_buffers())


# ------------------------------------------------------------------------------- functional_call


@scenarios.add
def calls_with_other_parameters(torch: Any) -> Any:
    model, x = network(torch), numbers(torch, 5, 3)
    call = torch.func.functional_call
    live, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    double = {name: value * 2 for name, value in live.items()}
    good = [
        call(model, live, (x,)),
        call(model, double, x),
        call(model, {"first.weight": double["first.weight"]}, x),
        call(model, (double, {"shift": buffers["shift"] * 3}), (x,), {"scale": 2.0}),
        call(model, double, None, {"x": x}),
        call(model, {}, x),
        call(model, state(model), x),
    ]
    wrong = tried(
        lambda: call(model, {"nothing": x}, x),
        lambda: call(model, {"first.nothing": x}, x),
        lambda: call(model, live, 3.0),
        lambda: call(model, [live], x),
        lambda: call(model, "text", x),
        lambda: call(model, (live, live), x),
        lambda: call(model, live, x, strict=True),
        lambda: call(model, (live, buffers), x, strict=True),
        lambda: call(model, {**live, "more": x}, x, strict=True),
        lambda: call(model, live, x, {"nothing": 1}),
        lambda: call(model, {"first.weight": torch.ones(1)}, x),
    )
    return good, wrong, model.first.weight is live["first.weight"], model.shift is buffers["shift"]


@scenarios.add
def what_forward_changes(torch: Any) -> Any:
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("replaced", torch.zeros(1))
            self.register_buffer("written", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.replaced = self.replaced + 1
            self.written.add_(1)
            if x is None:
                raise ValueError("nothing")
            return x + self.replaced + self.written

    model = Counting()
    given = {"replaced": torch.ones(1) * 5, "written": torch.ones(1) * 7}
    result = torch.func.functional_call(model, given, torch.ones(1))
    failed = attempt(lambda: torch.func.functional_call(model, given, (None,)))
    return result, failed, given, model.replaced, model.written


@scenarios.add
def tied_parameters(torch: Any) -> Any:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = linear(torch, 3, 3)
            self.weight = self.linear.weight
            self.register_buffer("one", torch.ones(3))
            self.register_buffer("other", self.one)

        def forward(self, x: Any) -> Any:
            return self.linear(x) @ self.weight + self.one + self.other

    f, model, x = torch.func, Tied(), numbers(torch, 2, 3)
    given = {name: value * 2 for name, value in state(model)[0].items()}
    both = {**given, "linear.weight": numbers(torch, 3, 3, seed=9)}
    return tried(
        lambda: f.functional_call(model, given, x),
        lambda: f.functional_call(model, given, x, tie_weights=False),
        lambda: f.functional_call(model, {"other": numbers(torch, 3)}, x),
        lambda: f.functional_call(model, both, x),
        lambda: f.functional_call(model, both, x, tie_weights=False),
        lambda: f.grad(lambda p: f.functional_call(model, p, x).sum())(given),
    )


# ------------------------------------------------------------------------- ensembles and samples


@scenarios.add
def ensembles(torch: Any) -> Any:
    f, models = torch.func, [network(torch, seed) for seed in range(3)]
    parameters, buffers = f.stack_module_state(models)
    x = numbers(torch, 5, 3)

    def run(p: Any, b: Any, x: Any) -> Any:
        return f.functional_call(models[0], (p, b), (x,))

    def loss(p: Any, b: Any, x: Any) -> Any:
        return run(p, b, x).pow(2).mean()

    results = [
        f.vmap(run, (0, 0, None))(parameters, buffers, x),
        f.vmap(run)(parameters, buffers, numbers(torch, 3, 5, 3)),
        f.vmap(f.grad_and_value(loss), (0, 0, None))(parameters, buffers, x),
    ]
    f.vmap(loss, (0, 0, None))(parameters, buffers, x).sum().backward()
    frozen = [linear(torch, 2, 2) for _ in range(2)]
    frozen[0].weight.requires_grad_(False)
    wrong: list[Any] = [
        [],
        [network(torch), network(torch).eval()],
        frozen,
        [linear(torch, 2, 2), network(torch)],
        [linear(torch, 2, 2), linear(torch, 3, 2)],
    ]
    leaves = {name: (v.is_leaf, v.grad) for name, v in parameters.items()}
    return results, leaves, buffers, each(of=wrong, by=f.stack_module_state)


@scenarios.add
def ensembles_with_dropout(torch: Any) -> Any:
    f, models = torch.func, [network(torch) for _ in range(2)]
    parameters, buffers = f.stack_module_state(models)
    x, rates = numbers(torch, 6, 3), torch.tensor([0.2, 0.4], dtype=torch.float64)

    def step(p: Any, b: Any, rate: Any) -> Any:
        def loss(p: Any) -> Any:
            dropped = torch.nn.functional.dropout(x, 0.5)
            return f.functional_call(models[0], (p, b), dropped).pow(2).mean()

        gradients, value = f.grad_and_value(loss)(p)
        return value, {name: p[name] - rate * gradients[name] for name in p}

    def stepped(way: str) -> Any:
        torch.manual_seed(4)
        return f.vmap(step, randomness=way)(parameters, buffers, rates)

    return each(of=["same", "different", "error"], by=stepped)


@scenarios.add
def samples_of_a_network(torch: Any) -> Any:
    f, model = torch.func, network(torch)
    x, y = numbers(torch, 5, 3), numbers(torch, 5, 2, seed=4)
    parameters, buffers = state(model)

    def run(p: Any, x: Any) -> Any:
        return f.functional_call(model, (p, buffers), x)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.mse_loss(run(p, x.unsqueeze(0)), y.unsqueeze(0))

    return [
        f.vmap(f.grad(loss), (None, 0, 0))(parameters, x, y),
        f.vmap(f.grad(loss), (None, 0, 0), chunk_size=2)(parameters, x, y),
        f.vmap(f.grad(loss), (None, 0, 0))(dict(model.named_parameters()), x, y),
        f.jacrev(run)(parameters, x[0]),
        f.jacfwd(run)(parameters, x[0]),
        f.vmap(f.jacrev(run), (None, 0))(parameters, x),
        f.jacfwd(f.jacrev(lambda p: run(p, x[0]).sum()))(parameters)["first.bias"],
        f.vmap(f.hessian(lambda x: model(x)[0]))(x),
    ]


@scenarios.add
def learning_to_learn(torch: Any) -> Any:
    f, model = torch.func, network(torch)
    live, buffers = dict(model.named_parameters()), dict(model.named_buffers())

    def loss(p: Any, x: Any, y: Any) -> Any:
        return ((f.functional_call(model, (p, buffers), x) - y) ** 2).mean()

    def task(x: Any, y: Any) -> Any:
        p = live
        for _ in range(2):
            gradients = f.grad(loss)(p, x, y)
            p = {name: p[name] - 0.1 * gradients[name] for name in p}
        return loss(p, x + 1, y)

    losses = f.vmap(task)(numbers(torch, 3, 4, 3), numbers(torch, 3, 4, 2, seed=1))
    return losses, torch.autograd.grad(losses.sum(), list(live.values()))


def layers(torch: Any) -> dict[str, Any]:
    """Losses of parameters, one example and its label."""
    f = torch.nn.functional
    mean, variance = numbers(torch, 2, seed=7), numbers(torch, 2, seed=8).abs() + 0.5

    def image(p: Any, x: Any, y: Any) -> Any:
        h = f.max_pool2d(f.relu(f.conv2d(x.unsqueeze(0), p["k"], p["b"], padding=1)), 2)
        h = f.avg_pool2d(f.batch_norm(h, mean, variance, p["g"], p["h"]), 2, stride=1)
        return f.cross_entropy(h.flatten(1) @ p["w"].T, y.unsqueeze(0))

    def normalized(p: Any, x: Any, y: Any) -> Any:
        h = f.conv2d(x.unsqueeze(0), p["k"], p["b"], stride=2)
        h = f.group_norm(h, 2, p["g"], p["h"]) + f.instance_norm(h)
        return f.gelu(h).sum() + f.batch_norm(h, None, None, p["g"], training=True).pow(3).mean()

    def words(p: Any, x: Any, y: Any) -> Any:
        h = f.layer_norm(f.embedding(y.expand(3), p["e"]) * x.mean(), (4,), p["l"], p["l"])
        h = torch.softmax(h @ h.T / 2, -1) @ h
        return f.cross_entropy(h.mean(0)[:3].unsqueeze(0), y.unsqueeze(0))

    return {"image": image, "normalized": normalized, "words": words}


@scenarios.add
def samples_of_layers(torch: Any) -> Any:
    f = torch.func
    p = {
        "k": numbers(torch, 2, 1, 3, 3) * 0.3,
        "b": numbers(torch, 2),
        "g": numbers(torch, 2, seed=2),
        "h": numbers(torch, 2, seed=3),
        "w": numbers(torch, 3, 8, seed=4),
        "e": numbers(torch, 7, 4, seed=5),
        "l": numbers(torch, 4, seed=6),
    }
    x, y = numbers(torch, 3, 1, 6, 6), torch.tensor([0, 2, 1])
    models = {name: torch.stack([value, value * 2]) for name, value in p.items()}
    return {
        name: (
            f.vmap(f.grad(loss), (None, 0, 0))(p, x, y),
            f.vmap(f.grad(loss), (0, None, None))(models, x[0], y[0]),
            f.vmap(lambda x, y, g=loss: f.jvp(lambda p: g(p, x, y), (p,), (p,)))(x, y),
        )
        for name, loss in layers(torch).items()
    }


@scenarios.add
def statistics_under_transforms(torch: Any) -> Any:
    f, x = torch.func, numbers(torch, 4, 5, 2)
    mean, variance = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)

    def loss(x: Any, mean: Any = mean, variance: Any = variance) -> Any:
        return torch.nn.functional.batch_norm(x, mean, variance, training=True).pow(3).sum()

    own = mean.expand(4, 2).clone(), variance.expand(4, 2).clone()
    return tried(
        lambda: f.vmap(loss)(x), lambda: f.vmap(f.grad(loss))(x), lambda: f.vmap(loss)(x, *own)
    ), own


# --------------------------------------------------------------------- torch.autograd.functional


@scenarios.add
def old_functions(torch: Any) -> Any:
    old, y = torch.autograd.functional, numbers(torch, 3, seed=4)
    x, v, t = numbers(torch, 2, 3).requires_grad_(), numbers(torch, 2), numbers(torch, 2, 3, seed=8)

    def vector(a: Any) -> Any:
        return (a * y).sin().sum(1)

    def scalar(a: Any) -> Any:
        return (a * y).sin().pow(2).sum()

    def all_of(graph: bool) -> list[Any]:
        return [
            old.vjp(vector, x, v, create_graph=graph),
            old.jvp(vector, x, t, create_graph=graph),
            old.vhp(scalar, x, t, create_graph=graph),
            old.hvp(scalar, x, t, create_graph=graph),
            (None, old.jacobian(vector, x, create_graph=graph)),
            (None, old.jacobian(vector, x, create_graph=graph, vectorize=True)),
            (None, old.hessian(scalar, x, create_graph=graph)),
        ]

    with_graph = all_of(True)
    second = [torch.autograd.grad(result.sum(), x) for _, result in with_graph]
    with torch.no_grad():
        quiet = all_of(False) + all_of(True)
    return all_of(False), with_graph, second, quiet


@scenarios.add
def wrong_arguments_of_old_functions(torch: Any) -> Any:
    old, x = torch.autograd.functional, torch.ones(3)
    calls: list[Any] = [
        (torch.add, (x, x), x),
        (torch.sum, x, torch.ones(5)),
        (torch.sum, x, (x, x)),
        (torch.sum, (x, 2), x),
        (torch.sum, 1.0, x),
        (torch.sum, x, 2.0),
        (torch.sum, x),
        (lambda a: 1.0, x, x),
        (lambda a: (a.sum(), 1), x, x),
        (lambda a: a, x, x),
        (lambda a: a.sum().reshape(1), x, x),
        (lambda a: a.detach().sum(), x, x),
        (lambda a, b: a.sum(), (x, x), (x, x)),
        (torch.sum, x.long(), x),
    ]
    found: list[Any] = []
    for function in (old.vjp, old.jvp, old.vhp, old.hvp):
        found += each(of=calls, by=lambda call, g=function: g(*call))
        found += each(of=calls[-5:], by=lambda call, g=function: g(*call, strict=True))
    for function in (old.jacobian, old.hessian):
        found += each(of=calls, by=lambda call, g=function: g(*call[:2]))
        found += each(of=calls[-5:], by=lambda call, g=function: g(*call[:2], strict=True))
    return found + tried(
        lambda: old.jacobian(torch.sum, x, strategy="other"),
        lambda: old.jacobian(torch.sum, x, strategy="forward-mode"),
        lambda: old.jacobian(torch.sin, x, strategy="forward-mode", vectorize=True),
        lambda: old.jacobian(torch.sin, x, strict=True, vectorize=True),
        lambda: old.hessian(torch.sum, x, outer_jacobian_strategy="forward-mode"),
        lambda: old.jacobian(lambda a: a * 1j, x),
        lambda: old.jacobian(torch.conj, x * 1j),
        lambda: old.jacobian(torch.sin, x[:0], vectorize=True),
    )


@pytest.mark.parametrize(**scenarios.cases())
def test_like_pytorch(scenario: Any) -> None:
    assert_same(torch, scenario)
