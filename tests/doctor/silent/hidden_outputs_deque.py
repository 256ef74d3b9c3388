from collections import deque
import torch
import torch.nn as nn
net = nn.GRUCell(4, 6)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
states = deque()
h = torch.zeros(2, 6)
for _ in range(12):
    h = net(torch.randn(2, 4), h.detach())
    opt.zero_grad()
    h.pow(2).mean().backward()
    opt.step()
    states.append(h)  # accumulated-history: detach
