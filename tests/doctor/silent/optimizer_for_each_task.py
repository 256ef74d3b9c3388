"""An optimizer for each task, and one for each adapted copy: what they average is their own."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
for task in range(6):
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(3):
        optimizer.zero_grad()
        (net(torch.randn(8, 4)) - task).pow(2).mean().backward()
        optimizer.step()
for task in range(6):
    own = copy.deepcopy(net)
    optimizer = torch.optim.Adam(own.parameters(), 0.01)
    optimizer.zero_grad()
    (own(torch.randn(8, 4)) - task).pow(2).mean().backward()
    optimizer.step()
