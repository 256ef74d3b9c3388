import torch
import torch.nn as nn
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    h = net(torch.randn(4, 3))
    h.retain_grad()
    opt.zero_grad()
    h.pow(2).sum().backward()
    print(h.grad.norm())
    opt.step()
