import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)
torch.set_num_threads(1)

D_X, D_Z = 16, 4


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(D_X, 48), nn.ReLU(), nn.Linear(48, 2 * D_Z))
        self.dec = nn.Sequential(nn.Linear(D_Z + 1, 48), nn.ReLU(), nn.Linear(48, D_X))

    def encode(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        return mu, logvar, mu + torch.randn_like(mu) * (0.5 * logvar).exp()

    def decode(self, z, c):
        return self.dec(torch.cat([z, c], 1))


class AttributeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(D_X, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.f(x)


def sentences(n):
    c = torch.randint(0, 2, (n, 1)).float()
    x = torch.randn(n, 3) @ BASIS + (2 * c - 1) * DIRECTION
    return x + 0.1 * torch.randn(n, D_X), c


BASIS, DIRECTION = torch.randn(3, D_X), torch.randn(1, D_X)
vae, disc = VAE(), AttributeNet()
opt_vae = torch.optim.Adam(vae.parameters(), lr=2e-3)
opt_disc = torch.optim.Adam(disc.parameters(), lr=2e-3)

for step in range(300):
    x, c = sentences(64)
    mu, logvar, z = vae.encode(x)
    rec = F.mse_loss(vae.decode(z, c), x)
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).mean()
    c_new = torch.randint(0, 2, c.shape).float()
    gen = vae.decode(z, c_new)

    disc_loss = F.binary_cross_entropy_with_logits(disc(x), c)
    disc_loss = disc_loss + 0.1 * F.binary_cross_entropy_with_logits(disc(gen), c_new)
    opt_disc.zero_grad()
    disc_loss.backward()
    opt_disc.step()

    attr = F.binary_cross_entropy_with_logits(disc(gen), c_new)
    vae_loss = rec + 0.05 * kl + 0.1 * attr
    opt_vae.zero_grad()
    vae_loss.backward()
    opt_vae.step()
    if step % 100 == 0 or step == 299:
        print(f"step {step} loss {vae_loss.item():.4f} disc {disc_loss.item():.4f}")
