"""Counting the parameters has used them up: a group of the optimizer is empty."""

import itertools

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
head = nn.Linear(16, 3)
both = itertools.chain(body.parameters(), head.parameters())  # stale-optimizer-params: renew-parameters
print("parameters:", sum(p.numel() for p in both))
scale = nn.Parameter(torch.ones(1))
optimizer = torch.optim.Adam([{"params": both}, {"params": [scale]}], lr=1e-2)
x = torch.randn(64, 8)
y = x[:, :3].argmax(1)
for step in range(20):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(body(x)) * scale, y)
    loss.backward()
    optimizer.step()
print(loss.item())
