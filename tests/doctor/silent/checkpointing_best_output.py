import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
best, best_out = float("inf"), None
for n in range(12):
    out = net(torch.randn(5, 4))
    loss = out.pow(2).mean()
    if loss.item() < best:
        best, best_out = loss.item(), out
    opt.zero_grad()
    loss.backward()
    opt.step()
