import torch
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
every = torch.empty(0, 2)
for i in range(9):
    out = net(torch.randn(6, 4))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    every = torch.cat([every, out])  # accumulated-history: detach
