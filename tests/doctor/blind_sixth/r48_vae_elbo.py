import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, d=20, h=48, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.mu = nn.Linear(h, z)
        self.logvar = nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def elbo_loss(logits, x, mu, logvar, beta):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=1)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
    return rec + beta * kl, rec, kl


def patterns(n):
    proto = (torch.rand(6, 20, generator=torch.Generator().manual_seed(3)) > 0.5).float()
    x = proto[torch.randint(0, 6, (n,))]
    flip = torch.rand_like(x) < 0.05
    return torch.where(flip, 1 - x, x)


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
data = patterns(512)

for epoch in range(5):
    beta = min(1.0, (epoch + 1) / 5)
    for x in data[torch.randperm(512)].split(64):
        logits, mu, logvar = vae(x)
        loss, rec, kl = elbo_loss(logits, x, mu, logvar, beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} rec {rec.mean().item():.3f} kl {kl.mean().item():.3f}")
