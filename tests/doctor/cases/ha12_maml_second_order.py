from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


@dataclass
class Settings:
    inner_lr: float = 0.1
    inner_steps: int = 3
    tasks: int = 4
    shots: int = 8
    iterations: int = 20
    losses: list = field(default_factory=list)


class LineTask:
    def __init__(self, gen):
        self.slope, self.bias = torch.randn(2, generator=gen).tolist()
        self.gen = gen

    def draw(self, n):
        x = torch.rand(n, 1, generator=self.gen) * 2 - 1
        return x, self.slope * x + self.bias


def adapt(model, rates, task, settings):
    """Gradient steps whose own derivative is kept: the outer loss sees through them."""
    weights = dict(model.named_parameters())
    x, y = task.draw(settings.shots)
    for _ in range(settings.inner_steps):
        loss = F.mse_loss(functional_call(model, weights, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(weights.values()), create_graph=True)
        weights = {
            name: w - settings.inner_lr * rates[name.replace(".", "_")] * g
            for (name, w), g in zip(weights.items(), grads)
        }
    return weights


def main(settings):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(3)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    rates = nn.ParameterDict(
        {name.replace(".", "_"): torch.ones(()) for name, _ in model.named_parameters()}
    )
    outer = torch.optim.Adam([*model.parameters(), *rates.parameters()], lr=1e-2)
    for it in range(settings.iterations):
        outer.zero_grad()
        total = 0.0
        for _ in range(settings.tasks):
            task = LineTask(gen)
            weights = adapt(model, rates, task, settings)
            x, y = task.draw(settings.shots)
            loss = F.mse_loss(functional_call(model, weights, (x,)), y) / settings.tasks
            loss.backward()
            total += loss.item()
        outer.step()
        settings.losses.append(total)
    early, late = sum(settings.losses[:5]) / 5, sum(settings.losses[-5:]) / 5
    print("early", round(early, 4), "late", round(late, 4))
    print("rates", {name: round(rate.item(), 3) for name, rate in rates.items()})


if __name__ == "__main__":
    main(Settings())
