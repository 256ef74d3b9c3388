import torch
import torch.nn as nn
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
book = nn.Parameter(torch.randn(6, 3))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), book])
for i in range(4):
    x = torch.randn(5, 4)
    z = enc(x)
    code = book[torch.cdist(z, book).argmin(1)]
    q = z + (code - z).detach()
    loss = (dec(q) - x).pow(2).mean() + (code - z.detach()).pow(2).mean() + (z - code.detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
