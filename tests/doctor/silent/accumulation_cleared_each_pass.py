"""Gradients are to add up over four batches, and each batch clears them."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
accumulation_steps = 4
batches = [(torch.randn(8, 10), torch.randn(8, 1)) for _ in range(24)]
for i, (x, y) in enumerate(batches):
    optimizer.zero_grad()  # zero-grad-misuse: reorder-step
    loss = nn.functional.mse_loss(net(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
