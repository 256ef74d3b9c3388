#!/usr/bin/env python
# coding: utf-8
# # Beta-VAE on toy sprites
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

# ## Data: a bright square somewhere on an 8x8 canvas

def sprites(n):
    imgs = torch.zeros(n, 64)
    pos = torch.randint(0, 6, (n, 2))
    grid = imgs.view(n, 8, 8)
    for k, (r, c) in enumerate(pos.tolist()):
        grid[k, r:r + 2, c:c + 2] = 1.0
    return imgs, pos

# ## Model

class BetaVAE(nn.Module):
    def __init__(self, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, 64))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar

def elbo(x, recon, mu, logvar, beta=2.0):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return bce + beta * kl

# ## Training

vae = BetaVAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
latents, positions, curve = [], [], []
for it in range(16):
    x, pos = sprites(16)
    recon, mu, logvar = vae(x)
    loss = elbo(x, recon, mu, logvar)
    opt.zero_grad()
    loss.backward()
    opt.step()
    curve.append(loss.item())
    latents += [mu.detach()]     # for the scatter plot below
    positions += [pos]

# ## How does the latent space move during training?
Z = torch.cat(latents).view(16, 16, 2)
for it in (0, 7, 15):
    print(it, round(curve[it], 3), [round(v, 3) for v in Z[it].mean(0).tolist()])
