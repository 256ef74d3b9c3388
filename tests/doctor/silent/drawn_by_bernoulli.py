"""A draw has no slope: what lies behind it gets zeros only."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
inside, outside = nn.Linear(4, 6), nn.Linear(6, 4)
optimizer = torch.optim.SGD([*inside.parameters(), *outside.parameters()], 0.1)
x = torch.randn(12, 4)
for _ in range(6):
    z = torch.bernoulli(torch.sigmoid(inside(x)))  # broken-graph: keep-graph
    optimizer.zero_grad()
    F.mse_loss(outside(z), x).backward()
    optimizer.step()
