import math

import torch
import torch.nn as nn
from torch.func import functional_call


class SineNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.l1 = nn.Linear(1, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, 1)

    def forward(self, x):
        return self.l3(torch.tanh(self.l2(torch.tanh(self.l1(x)))))


class SineTasks:
    def __init__(self, seed=0):
        self.gen = torch.Generator().manual_seed(seed)

    def uniform(self, n, lo, hi):
        return lo + (hi - lo) * torch.rand(n, 1, generator=self.gen)

    def draw(self, shots=10):
        amp, phase = self.uniform(1, 0.5, 3.0), self.uniform(1, 0, math.pi)
        f = lambda x: amp * torch.sin(x + phase)
        xs, xq = self.uniform(shots, -4, 4), self.uniform(shots, -4, 4)
        return (xs, f(xs)), (xq, f(xq))


def mse(model, weights, data):
    x, y = data
    return (functional_call(model, weights, (x,)) - y).pow(2).mean()


def adapt(model, weights, support, lr, steps):
    """Second-order MAML: the adapted weights stay a function of the initial ones."""
    for _ in range(steps):
        loss = mse(model, weights, support)
        grads = torch.autograd.grad(loss, list(weights.values()))
        weights = {k: w - lr * g for (k, w), g in zip(weights.items(), grads)}
    return weights


def meta_train(iterations=40, tasks=4):
    torch.manual_seed(0)
    model = SineNet()
    meta = torch.optim.Adam(model.parameters(), lr=3e-3)
    source = SineTasks()
    for it in range(iterations):
        outer = 0.0
        for _ in range(tasks):
            support, query = source.draw()
            fast = adapt(model, dict(model.named_parameters()), support, lr=0.05, steps=2)
            outer = outer + mse(model, fast, query)
        meta.zero_grad()
        (outer / tasks).backward()
        meta.step()
    return (outer / tasks).item()


print("query loss after adaptation", round(meta_train(), 4))
