"""A partial keeps the graph of each call."""

import functools

import torch
from torch import nn

torch.manual_seed(0)
send_back = functools.partial(torch.autograd.backward, retain_graph=True)  # needless-retain: drop-retain
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    send_back([loss])
    optimizer.step()
