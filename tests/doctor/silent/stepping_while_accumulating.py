"""A step for each micro batch, but cleared for every third one."""

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(net.parameters())
for number in range(12):
    (net(torch.randn(8, 4)).pow(2).mean() / 3).backward()
    optimizer.step()  # zero-grad-misuse: reorder-step
    if number % 3 == 2:
        optimizer.zero_grad()
