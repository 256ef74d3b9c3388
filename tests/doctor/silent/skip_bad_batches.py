import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(12):
    opt.zero_grad()
    loss = net(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    if i % 4 == 1:
        continue
    opt.step()
