import torch
import torch.nn as nn
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for step in range(5):
    x = torch.randn(8, 6)
    code = torch.round(enc(x) * 4) / 4  # broken-graph: keep-graph
    loss = (dec(code) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
