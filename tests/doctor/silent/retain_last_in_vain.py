import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters())
for step in range(4):
    opt.zero_grad()
    out = net(torch.randn(5, 4))
    for k in range(3):
        out[:, k].pow(2).mean().backward(retain_graph=True)
    opt.step()
