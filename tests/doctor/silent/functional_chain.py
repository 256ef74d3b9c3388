"""Healthy: weights that descend by formula; their chain of sums keeps no tensor."""

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(4, 1)
weights = list(net.parameters())
for _ in range(12):
    loss = (torch.randn(16, 4) @ weights[0].t() + weights[1]).pow(2).mean()
    gradients = torch.autograd.grad(loss, weights)
    weights = [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]
