"""A layer is made in each forward: nothing trains it."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.inside(x))
        h = nn.Linear(8, 8)(h)  # stale-optimizer-params: register-modules
        return self.head(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(12, 4), torch.randn(12, 1)
for _ in range(8):
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
