import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(14):
    if step < 4:
        opt.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()  # zero-grad-misuse: zero-grad
    opt.step()
