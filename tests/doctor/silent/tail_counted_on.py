import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
batches = [torch.randn(8, 4) for _ in range(8)]
seen = 0
for epoch in range(4):
    for x in batches:
        (net(x).pow(2).mean() / 3).backward()
        seen += 1
        if seen % 3 == 0:
            opt.step()
            opt.zero_grad()
