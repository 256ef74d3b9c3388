"""Learned weights of two losses that no optimizer holds."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 1)
spread = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD(net.parameters(), 0.1)  # stale-optimizer-params: rebuild-optimizer
x, y = torch.randn(12, 4), torch.randn(12, 1)
for _ in range(8):
    optimizer.zero_grad()
    first, second = F.mse_loss(net(x), y), F.l1_loss(net(x), y)
    loss = first / spread[0].exp() + second / spread[1].exp() + spread.sum()
    loss.backward()
    optimizer.step()
