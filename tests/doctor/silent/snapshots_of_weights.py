"""Each copy of the weights has a graph."""

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
path = []
for _ in range(12):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    path.append(net.weight.clone())  # accumulated-history: detach
