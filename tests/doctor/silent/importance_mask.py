"""Healthy: a mask that is no parameter, because only its gradient is wanted."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
        self.mask = torch.ones(8, requires_grad=True)

    def forward(self, inputs):
        return self.head(self.body(inputs).relu() * self.mask)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
importance = torch.zeros(8)
for _ in range(6):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    importance += net.mask.grad.abs()
    net.mask.grad = None
