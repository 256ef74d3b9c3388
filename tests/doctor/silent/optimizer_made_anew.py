"""Adam is made in each step; plain SGD, which keeps nothing, may be."""

import torch
from torch import nn

torch.manual_seed(0)
net, other = nn.Linear(4, 1), nn.Linear(4, 1)
x, y = torch.randn(8, 4), torch.randn(8, 1)
for _ in range(8):
    adam = torch.optim.Adam(net.parameters(), 0.01)  # optimizer-made-anew: rebuild-optimizer
    plain = torch.optim.SGD(other.parameters(), 0.01)
    adam.zero_grad()
    plain.zero_grad()
    (net(x) + other(x) - y).pow(2).mean().backward()
    adam.step()
    plain.step()
