"""Healthy: a layer that came later has its own optimizer."""

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.append(nn.Linear(8, 1))
other = torch.optim.SGD(net[2].parameters(), lr=0.1)
for _ in range(6):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    other.step()
    other.zero_grad()
