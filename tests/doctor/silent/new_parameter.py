import torch
import torch.nn as nn
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for _ in range(4):
    x = torch.randn(5, 4)
    z = nn.Parameter(enc(x))  # broken-graph: keep-graph
    loss = (dec(z) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
