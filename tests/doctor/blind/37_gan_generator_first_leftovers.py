import torch
import torch.nn as nn
import torch.nn.functional as F


class ToyGAN:
    """Hinge GAN on a 1-d mixture; the generator moves first in every round."""

    def __init__(self, latent=4, lr=1e-3):
        self.latent = latent
        self.G = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 1))
        self.D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=lr, betas=(0.5, 0.99))

    def noise(self, n):
        return torch.randn(n, self.latent)

    def generator_step(self, n):
        fake = self.G(self.noise(n))
        loss = -self.D(fake).mean()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def discriminator_step(self, real):
        fake = self.G(self.noise(len(real))).detach()
        loss = F.relu(1 - self.D(real)).mean() + F.relu(1 + self.D(fake)).mean()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def round(self, real):
        self.opt_g.zero_grad()
        self.opt_d.zero_grad()
        g = self.generator_step(len(real))
        d = self.discriminator_step(real)
        return g, d

    @torch.no_grad()
    def stats(self, n=500):
        x = self.G(self.noise(n))
        return x.mean().item(), x.std().item()


def mixture(n):
    side = (torch.rand(n, 1) < 0.5).float() * 2 - 1
    return 1.0 + 0.8 * side + 0.1 * torch.randn(n, 1)


torch.manual_seed(68)
gan = ToyGAN()
for r in range(300):
    g, d = gan.round(mixture(64))
    if r % 100 == 0:
        m, s = gan.stats()
        print(f"round {r} g {g:+.3f} d {d:.3f} mean {m:.2f} std {s:.2f}")
