import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    out = net(torch.randn(8, 4))
    if step < 3:
        opt.zero_grad()
        out.abs().mean().backward()
    else:
        out.pow(2).mean().backward()  # zero-grad-misuse: zero-grad
    opt.step()
