import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    opt.step()
    for p in net.parameters():
        p.grad.mul_(0.9)
