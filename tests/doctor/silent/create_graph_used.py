import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
def derivative(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]
for step in range(4):
    x = torch.randn(5, 4, requires_grad=True)
    u = net(x)
    ux = derivative(u, x)
    uxx = derivative(ux[:, 0], x)
    loss = (uxx[:, 0] + u[:, 0]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
