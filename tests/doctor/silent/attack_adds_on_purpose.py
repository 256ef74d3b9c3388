"""FreeLB: every step of the attack trains too; then the clean loss. And one that freezes."""
import torch
import torch.nn as nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    opt.zero_grad()
    delta = torch.zeros_like(x).uniform_(-0.1, 0.1).requires_grad_()
    for _ in range(3):
        (F.cross_entropy(net(x + delta), y) / 3).backward()
        delta = (delta + 0.1 * delta.grad.sign()).detach().requires_grad_()
    F.cross_entropy(net(x), y).backward()
    opt.step()
