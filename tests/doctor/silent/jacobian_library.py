import torch
import torch.nn as nn
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(3)
    j = torch.autograd.functional.jacobian(lambda v: torch.tanh(net(v)), x)
    loss = net(x).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
