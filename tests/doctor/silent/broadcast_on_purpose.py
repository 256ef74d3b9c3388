"""All pairs are meant where the text puts one side across; a kernel; equal shapes; few rows."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(12, 4)
y = x.sum(1)
net, kernel = nn.Linear(4, 1), nn.Linear(1, 12)
optimizer = torch.optim.SGD([*net.parameters(), *kernel.parameters()], 0.01)
for _ in range(6):
    optimizer.zero_grad()
    values = net(x).squeeze(1)
    ((values.unsqueeze(1) - y) ** 2).mean().backward()
    (net(x) - y[:, None].T).abs().mean().backward()
    (net(x).squeeze(1) - y).pow(2).mean().backward()
    (kernel(net(x)) - torch.eye(12)).pow(2).mean().backward()
    (net(x) - net.bias).pow(2).mean().backward()
    optimizer.step()
