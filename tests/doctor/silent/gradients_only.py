"""Gradients are what the program wants: the optimizer only clears them."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(12, 4), torch.randn(12, 1)
norms = []
for k in range(6):
    optimizer.zero_grad()
    F.mse_loss(net(x[k : k + 2]), y[k : k + 2]).backward()
    norms.append(net.weight.grad.norm().item())
