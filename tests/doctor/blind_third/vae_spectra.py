import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.manual_seed(18)


class SpectraVAE(nn.Module):
    def __init__(self, channels=30, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(channels, 32), nn.ELU())
        self.mean = nn.Linear(32, latent)
        self.log_std = nn.Linear(32, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 32), nn.ELU(), nn.Linear(32, channels))

    def posterior(self, x):
        h = self.enc(x)
        return Normal(self.mean(h), self.log_std(h).exp())

    def forward(self, x):
        q = self.posterior(x)
        z = q.sample()
        return self.dec(z), q


def spectra(n=256, channels=30):
    grid = torch.linspace(0, 1, channels)
    peak = torch.rand(n, 1)
    height = 1 + torch.rand(n, 1)
    return height * torch.exp(-((grid - peak) ** 2) / 0.02)


x = spectra()
vae = SpectraVAE()
prior = Normal(torch.zeros(3), torch.ones(3))
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
for epoch in range(300):
    recon, q = vae(x)
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = kl_divergence(q, prior).sum(1).mean()
    loss = rec + 0.05 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 75 == 0:
        print(f"epoch {epoch:3d}  rec {rec.item():.4f}  kl {kl.item():.4f}")
print(f"final rec {rec.item():.4f} kl {kl.item():.4f}")
