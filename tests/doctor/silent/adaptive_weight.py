import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
last = net[2].weight
for _ in range(4):
    x = torch.randn(6, 4)
    out = net(x)
    rec, adv = (out - x).pow(2).mean(), -out.mean()
    g1 = torch.autograd.grad(rec, last, retain_graph=True)[0]
    g2 = torch.autograd.grad(adv, last, retain_graph=True)[0]
    weight = (g1.norm() / (g2.norm() + 1e-4)).clamp(0, 10)
    loss = rec + weight * adv + 0.5
    opt.zero_grad()
    loss.backward()
    opt.step()
