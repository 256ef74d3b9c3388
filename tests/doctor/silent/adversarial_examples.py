import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for step in range(5):
    x = torch.randn(8, 4, requires_grad=True)
    slope = torch.autograd.grad(net(x).pow(2).mean(), x)[0]
    near = x + 0.1 * slope.sign()
    loss = net(near).pow(2).mean() + (net(x) - net(near)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
