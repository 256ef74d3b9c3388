"""Penalties with history, numbers that are printed, a target and a weight without history."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(6):
    norm = sum(p.abs().sum() for p in net.parameters())
    size = sum(p.abs().sum().item() for p in net.parameters())
    with torch.no_grad():
        wanted = teacher(x).softmax(1)
        share = 1 / (1 + F.cross_entropy(net(x), y))
    term = F.cross_entropy(net(x), wanted)
    loss = F.cross_entropy(net(x), y) + 0.01 * norm + share * term
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shown = loss.item() + size
