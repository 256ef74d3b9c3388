"""A tensor that requires grad is no parameter of the module."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.scale = torch.ones(8, requires_grad=True)  # stale-optimizer-params: register-modules

    def forward(self, inputs):
        return self.body(inputs).relu() * self.scale


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
