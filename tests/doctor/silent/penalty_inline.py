import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    x = torch.randn(6, 3, requires_grad=True)
    y = net(x)
    loss = (y - 1).pow(2).mean()
    g = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]  # missing-create-graph: create-graph
    loss += 0.1 * g.pow(2).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
