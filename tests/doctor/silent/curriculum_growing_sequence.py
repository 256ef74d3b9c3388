import torch
import torch.nn as nn
cell, out = nn.GRUCell(2, 4), nn.Linear(4, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()])
for n in range(1, 12):
    h = torch.zeros(3, 4)
    loss = 0
    for t in range(n):
        h = cell(torch.randn(3, 2), h)
        loss = loss + out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
