"""The loss is scaled, and the optimizer steps by itself."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-6)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
for _ in range(6):
    optimizer.zero_grad()
    scaler.scale((net(torch.randn(8, 4)) - 3).pow(2).mean()).backward()
    optimizer.step()  # stepped-before-unscale: unscale-first
