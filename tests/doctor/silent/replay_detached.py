import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
buffer, losses = [], []
for step in range(14):
    out = net(torch.randn(8, 4))
    buffer.append(out.detach())
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
