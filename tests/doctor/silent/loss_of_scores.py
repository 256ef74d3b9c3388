"""Losses that get what they expect, softmax inside of a model, and a mixture of experts."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
inner, outer, gate = nn.Linear(4, 4), nn.Linear(4, 3), nn.Linear(4, 3)
parts = [inner, outer, gate]
optimizer = torch.optim.SGD([p for part in parts for p in part.parameters()], 0.1)
for _ in range(6):
    optimizer.zero_grad()
    h = x * torch.softmax(inner(x), dim=1)
    F.cross_entropy(outer(h), y).backward()
    F.nll_loss(torch.log_softmax(outer(h.detach()), dim=1), y).backward()
    share = torch.sigmoid(gate(x)) * 0.9 + 0.05
    F.nll_loss((share / share.sum(1, keepdim=True)).log(), y).backward()
    F.cross_entropy(10 * torch.tanh(outer(x)), y, label_smoothing=0.1).backward()
    optimizer.step()
