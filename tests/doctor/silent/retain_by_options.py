"""A dict of options keeps the graph of each call."""

import torch
from torch import nn

torch.manual_seed(0)

OPTIONS = {"lr": 0.1, "backward": {"retain_graph": True}}  # needless-retain: drop-retain
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=OPTIONS["lr"])
for _ in range(6):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(**OPTIONS["backward"])
    optimizer.step()
