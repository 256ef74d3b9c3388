"""Tensors beside the model that no optimizer holds: an input, a perturbation, a network left out."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(4))
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        return self.lin(x + self.shift)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.basis = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        return x @ self.basis


features = Features()
net, fixed = nn.Linear(4, 1), Fixed()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
point = torch.randn(1, 4, requires_grad=True)
x, y = torch.randn(12, 4), torch.randn(12, 1)
for _ in range(8):
    optimizer.zero_grad()
    (F.mse_loss(net(features(fixed(x))), y) + net(point).sum()).backward()
    steep = point.grad.abs().max()
    optimizer.step()
