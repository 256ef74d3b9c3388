"""The closure of a step adds to the gradients of the last one."""

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def closure():
    loss = net(torch.randn(8, 4)).pow(2).mean()
    loss.backward()  # zero-grad-misuse: zero-grad
    return loss


for _ in range(6):
    optimizer.step(closure)
