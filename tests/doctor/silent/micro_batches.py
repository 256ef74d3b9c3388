import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(16):
    loss = net(torch.randn(5, 4)).pow(2).mean() / 4
    loss.backward()
    if (step + 1) % 4 == 0:
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        for p in net.parameters():
            p.grad = None
