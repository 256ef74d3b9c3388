"""States that are copied, or loaded before anything has stepped, or into another model."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
net, target = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
kept = copy.deepcopy(net.state_dict())
for _ in range(6):
    target.load_state_dict(net.state_dict())
    loss = (net(torch.randn(8, 4)) - 3).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    net.load_state_dict(net.state_dict())
live = net.state_dict()
loss = (net(torch.randn(8, 4)) - 3).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
target.load_state_dict(live)
net.load_state_dict(kept)
