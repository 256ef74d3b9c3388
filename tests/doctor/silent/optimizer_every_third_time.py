"""Healthy: one of two optimizers uses the gradients only now and then."""

import torch
from torch import nn

torch.manual_seed(0)

first, second = nn.Linear(3, 4), nn.Linear(4, 1)
slow = torch.optim.Adam(first.parameters())
fast = torch.optim.Adam(second.parameters())
for number in range(10):
    slow.zero_grad()
    fast.zero_grad()
    second(first(torch.randn(8, 3)).relu()).pow(2).mean().backward()
    fast.step()
    if number % 3 == 0:
        slow.step()
