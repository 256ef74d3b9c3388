"""A penalty of numbers, another one of .data, an entropy under no_grad: none of them trains."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(6):
    norm = sum(p.abs().sum().item() for p in net.parameters())  # broken-graph: keep-graph
    decay = 0.0
    for p in net.parameters():
        decay += p.data.pow(2).sum()  # broken-graph: keep-graph
    shares = net(x).softmax(1)
    with torch.no_grad():  # no-grad-scope: enable-grad
        entropy = -(shares * shares.log()).sum(1).mean()
    loss = F.cross_entropy(net(x), y) + 0.01 * norm + 1e-3 * decay - 0.1 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
