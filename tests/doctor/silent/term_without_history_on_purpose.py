"""An average of codes that no gradient trains: a term of the loss has no history, rightly."""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
enc, dec = nn.Linear(8, 4), nn.Linear(4, 8)
codes = torch.randn(16, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
x = torch.randn(64, 8)
for _ in range(12):
    z = enc(x)
    with torch.no_grad():
        idx = torch.cdist(z, codes).argmin(1)
        q = codes[idx]
    codebook_loss = F.mse_loss(q, z.detach())
    commit = F.mse_loss(z, q)
    st = z + (q - z).detach()
    loss = F.mse_loss(dec(st), x) + codebook_loss + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    codes.index_add_(0, idx, 0.01 * (z.detach() - q))
