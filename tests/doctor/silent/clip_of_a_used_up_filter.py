"""filter() gives the parameters once: to the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
for p in net[0].parameters():
    p.requires_grad_(False)
params = filter(lambda p: p.requires_grad, net.parameters())
opt = torch.optim.Adam(params, lr=1e-2)
x = torch.randn(32, 6)
for _ in range(10):
    opt.zero_grad()
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)  # clip-without-effect: renew-parameters
    opt.step()
