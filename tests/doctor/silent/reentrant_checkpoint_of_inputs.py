"""Healthy: inputs require grad; the extra head is only evaluated."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.extra = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, inputs, head=None):
        hidden = checkpoint(self.body, inputs.requires_grad_(), use_reentrant=True)
        return checkpoint(head or self.head, hidden.relu(), use_reentrant=True)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        net(torch.randn(16, 4), net.extra)
