"""Each value of a term of the loss is cut off."""

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(10, 4)
dec = nn.Linear(2, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
x = torch.randn(50, 10)
for _ in range(12):
    mu, logvar = enc(x).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    recon = nn.functional.mse_loss(dec(z), x)
    kl = (mu.data.pow(2) + logvar.data.exp() - logvar.data).mean()  # broken-graph: keep-graph
    loss = recon + 0.1 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
