import torch
import torch.nn as nn
net = nn.Linear(3, 4)
net.requires_grad_(False)
z = torch.randn(2, 3, requires_grad=True)
opt = torch.optim.Adam([z], lr=0.1)  # stale-optimizer-params: rebuild-optimizer
goal = torch.randn(2, 4)
z = z.detach().clamp(-1, 1).requires_grad_()
for _ in range(5):
    loss = (net(z) - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
