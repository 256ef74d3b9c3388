"""The sum is printed, and one of its terms is sent back."""

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(10, 4)
dec = nn.Linear(2, 10)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
x = torch.randn(50, 10)
beta = 0.1
for _ in range(12):
    mu, logvar = enc(x).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    recon = nn.functional.mse_loss(dec(z), x)
    kl = -0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())
    total = recon + beta * kl
    opt.zero_grad()
    recon.backward()  # dropped-losses: combine-losses
    opt.step()
    print(total.item())
