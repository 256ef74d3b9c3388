import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
weights = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam(net.parameters())
opt_w = torch.optim.Adam([weights])
first = None
for _ in range(5):
    out = net(torch.randn(6, 4))
    losses = out.pow(2).mean(0)
    first = losses.detach() if first is None else first
    total = (weights * losses).sum()
    opt.zero_grad()
    total.backward(retain_graph=True)
    norms = torch.stack([torch.autograd.grad(weights[i] * losses[i], net[2].weight, retain_graph=True, create_graph=True)[0].norm() for i in range(2)])
    goal = (norms.mean() * (losses / first)).detach()
    opt_w.zero_grad()
    (norms - goal).abs().sum().backward()
    opt.step()
    opt_w.step()
