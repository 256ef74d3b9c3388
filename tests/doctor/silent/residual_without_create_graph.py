import torch
import torch.nn as nn
u = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(u.parameters())
for step in range(5):
    points = torch.rand(32, 2, requires_grad=True)
    value = u(points)
    slope = torch.autograd.grad(value.sum(), points, retain_graph=True)[0]  # missing-create-graph: create-graph
    residual = slope[:, 1:] + value * slope[:, :1]
    loss = residual.pow(2).mean() + u(torch.zeros(4, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
