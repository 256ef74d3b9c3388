import torch
import torch.nn as nn
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    table = torch.zeros(6, 3)  # anew in each iteration
    for row in range(6):
        table[row] = net(torch.randn(4))
    loss = table.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
