# Reptile on sine waves: the meta weights are pulled towards the weights found by plain SGD on a task.
import copy
import math

import torch
import torch.nn as nn

torch.manual_seed(3)

INNER_STEPS, INNER_LR, META_LR, META_ITERS = 6, 0.02, 0.3, 40


class Regressor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x))


def task():
    a, b = 1 + 3 * torch.rand(1), math.pi * torch.rand(1)

    def draw(n):
        x = 8 * torch.rand(n, 1) - 4
        return x, a * torch.sin(x + b)

    return draw


def adapt(model, draw, steps=INNER_STEPS):
    learner = copy.deepcopy(model)
    opt = torch.optim.SGD(learner.parameters(), lr=INNER_LR)
    for _ in range(steps):
        x, y = draw(20)
        loss = (learner(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return learner, loss.item()


meta = Regressor()
before = [p.detach().clone() for p in meta.parameters()]

for it in range(META_ITERS):
    learner, last = adapt(meta, task())
    step_size = META_LR * (1 - it / META_ITERS)
    for p, q in zip(meta.parameters(), learner.parameters()):
        p.data += step_size * (q.data - p.data)
    if it % 10 == 0:
        print(f"meta iteration {it:3d}  loss after adaptation {last:.3f}")

moved = sum((p - b).abs().sum().item() for p, b in zip(meta.parameters(), before))
print(f"meta weights moved by {moved:.2f}")
