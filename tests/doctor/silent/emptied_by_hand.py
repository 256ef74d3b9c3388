"""The gradients are zeroed by hand between backward and step."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    net(torch.randn(8, 4)).pow(2).mean().backward()
    for parameter in net.parameters():
        parameter.grad.zero_()  # zero-grad-misuse: reorder-step
    optimizer.step()
