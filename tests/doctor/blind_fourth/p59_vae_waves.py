import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(35)
torch.set_num_threads(1)


class WaveVAE(nn.Module):
    def __init__(self, length=24, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(length, 48), nn.ReLU())
        self.to_mu = nn.Linear(48, latent)
        self.to_logvar = nn.Linear(48, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 48), nn.ReLU(), nn.Linear(48, length))

    def encode(self, x):
        h = self.enc(x)
        return self.to_mu(h), self.to_logvar(h)

    def sample(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return torch.normal(mu, std)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.sample(mu, logvar)
        return self.dec(z), mu, logvar


def vae_loss(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec, kl


def waves(n):
    t = torch.linspace(0, 6.28, 24)
    return torch.sin(t + torch.rand(n, 1) * 6.28) * (0.5 + torch.rand(n, 1))


vae = WaveVAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=4e-3)
for step in range(400):
    x = waves(64)
    recon, mu, logvar = vae(x)
    rec, kl = vae_loss(recon, x, mu, logvar)
    loss = rec + 0.1 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1} reconstruction {rec.item():.3f} kl {kl.item():.3f}")
