import torch
import torch.nn as nn
cell, out = nn.GRUCell(3, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()])
for step in range(6):
    x = torch.randn(5, 7, 3)
    h = torch.zeros(5, 8)
    for t in range(7):
        h = h.detach()  # broken-graph: keep-graph
        h = cell(x[:, t], h)
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
