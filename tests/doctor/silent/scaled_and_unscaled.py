"""Scaled losses whose gradients are divided again: by the scaler, or before a step by hand."""

import torch
from torch import nn

torch.manual_seed(0)
net, other = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
second = torch.optim.SGD(other.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
for step in range(6):
    optimizer.zero_grad()
    second.zero_grad()
    scaler.scale((net(torch.randn(8, 4)) - 3).pow(2).mean()).backward()
    (other(torch.randn(8, 4)) - 3).pow(2).mean().backward()
    second.step()
    if step % 2:
        scaler.step(optimizer)
    else:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    scaler.update()
