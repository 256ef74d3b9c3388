import torch
import torch.nn as nn
cell, head = nn.LSTMCell(3, 5), nn.Linear(5, 1)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()])
h = c = torch.zeros(2, 5)
losses = []
for t in range(24):
    h, c = cell(torch.randn(2, 3), (h, c))
    losses.append(head(h).pow(2).mean())
    if (t + 1) % 4 == 0:
        opt.zero_grad()
        torch.stack(losses).sum().backward()
        opt.step()
        losses = []
        h, c = h.detach(), c.detach()
