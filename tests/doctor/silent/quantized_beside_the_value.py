import torch
import torch.nn as nn
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for step in range(5):
    x = torch.randn(8, 6)
    z = enc(x)
    code = z + 0.1 * torch.round(z)
    loss = (dec(code) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
