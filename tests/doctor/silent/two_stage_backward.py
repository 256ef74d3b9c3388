import torch
from torch import nn
front, back = nn.Linear(4, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*front.parameters(), *back.parameters()], lr=0.1)
for i in range(4):
    h = front(torch.randn(6, 4))
    leaf = h.detach().requires_grad_()
    loss = back(leaf).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    h.backward(leaf.grad)
    opt.step()
