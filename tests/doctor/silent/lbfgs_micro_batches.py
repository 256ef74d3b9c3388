"""A closure that sums over micro-batches on purpose: each call of it clears first."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
x, y = torch.randn(20, 4), torch.randn(20, 1)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=5)


def closure():
    for parameter in net.parameters():
        parameter.grad = None
    total = 0.0
    for rows in torch.arange(20).split(5):
        loss = (net(x[rows]) - y[rows]).pow(2).sum() / 20
        loss.backward()
        total += loss.item()
    return total


for _ in range(5):
    optimizer.step(closure)
