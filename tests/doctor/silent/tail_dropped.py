import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
batches = [torch.randn(8, 4) for _ in range(8)]
for epoch in range(4):
    opt.zero_grad()
    for i, x in enumerate(batches):
        (net(x).pow(2).mean() / 3).backward()
        if (i + 1) % 3 == 0:
            opt.step()
            opt.zero_grad()
