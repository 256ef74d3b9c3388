import torch
import torch.nn as nn
cell, out = nn.GRUCell(3, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()])
for step in range(6):
    x = torch.randn(5, 9, 3)
    h = torch.zeros(5, 8)
    for t in range(9):
        if t % 3 == 0:
            h = h.detach()
        h = cell(x[:, t], h)
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
