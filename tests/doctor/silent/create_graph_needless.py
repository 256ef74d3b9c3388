import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(5, 4, requires_grad=True)
for step in range(3):
    y = net(x).sum()
    g = torch.autograd.grad(y, x, create_graph=True)[0]  # needless-retain: drop-retain
    print(g.norm().item())
