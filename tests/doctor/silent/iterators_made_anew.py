"""Iterators that nobody has gone through, and one that never had anything."""

import itertools
import torch
from torch import nn

torch.manual_seed(0)
a, b = nn.Linear(6, 6), nn.Linear(6, 1)
for p in b.parameters():
    p.requires_grad_(True)
params = list(itertools.chain(a.parameters(), b.parameters()))
print(sum(p.numel() for p in params))
opt = torch.optim.Adam(
    [
        {"params": filter(lambda p: p.dim() > 1, params)},
        {"params": filter(lambda p: p.dim() < 2, params), "weight_decay": 0.0},
    ],
    1e-3,
)
x = torch.randn(16, 6)
for _ in range(6):
    opt.zero_grad()
    loss = b(torch.relu(a(x))).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_((p for p in params if p.grad is not None), 1.0)
    nn.utils.clip_grad_norm_(filter(lambda p: p.dim() > 5, params), 1.0)
    opt.step()
