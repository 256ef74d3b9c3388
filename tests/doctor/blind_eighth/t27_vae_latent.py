"""VAE on low-dimensional data living on a curved surface."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.manual_seed(26)


class VAE(nn.Module):
    def __init__(self, d=12, z=2, h=48):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def encode(self, x):
        mu, log_std = self.enc(x).chunk(2, dim=1)
        return Normal(mu, log_std.exp())

    def forward(self, x):
        q = self.encode(x)
        z = q.sample()
        return self.dec(z), q


def elbo_terms(model, x):
    recon, q = model(x)
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    prior = Normal(torch.zeros_like(q.loc), torch.ones_like(q.scale))
    kl = kl_divergence(q, prior).sum(1).mean()
    return rec, kl


mixing = torch.randn(2, 12)
latent = torch.randn(512, 2)
data = torch.tanh(latent @ mixing) * 2 + 0.05 * torch.randn(512, 12)

vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=3e-3)
for epoch in range(60):
    for idx in torch.randperm(512).split(128):
        rec, kl = elbo_terms(vae, data[idx])
        loss = rec + 0.5 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1}: rec {rec.item():.3f} kl {kl.item():.3f}")
