"""LBFGS calls its closure several times a step, and nothing clears in it."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
x, y = torch.randn(20, 4), torch.randn(20, 1)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=5)


def closure():
    loss = (net(x) - y).pow(2).mean()
    loss.backward()  # zero-grad-misuse: zero-grad
    return loss


for _ in range(5):
    optimizer.zero_grad()
    loss = optimizer.step(closure)
