import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    sums = [torch.zeros_like(p) for p in net.parameters()]
    for x in torch.randn(5, 4):
        opt.zero_grad()
        net(x).pow(2).sum().backward()
        norm = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt()
        for s, p in zip(sums, net.parameters()):
            s += p.grad / norm.clamp(min=1)
    for s, p in zip(sums, net.parameters()):
        p.grad = s / 5
    opt.step()
