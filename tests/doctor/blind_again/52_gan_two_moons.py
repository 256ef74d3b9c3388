import math

import torch
from torch import nn, optim


def two_moons(n):
    a = torch.rand(n) * math.pi
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, torch.cos(a), 1 - torch.cos(a))
    y = torch.where(upper, torch.sin(a), 0.5 - torch.sin(a))
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


def mlp(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class MoonGAN:
    def __init__(self, latent=4, lr=1e-3):
        self.latent = latent
        self.G = mlp(latent, 2)
        self.D = mlp(2, 1)
        self.opt_g = optim.Adam(self.G.parameters(), lr=lr, betas=(0.5, 0.99))
        self.opt_d = optim.Adam(self.D.parameters(), lr=lr, betas=(0.5, 0.99))
        self.bce = nn.BCEWithLogitsLoss()

    def step(self, real):
        n = real.size(0)
        ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)
        fake = self.G(torch.randn(n, self.latent))

        self.opt_d.zero_grad()
        d_loss = self.bce(self.D(real), ones) + self.bce(self.D(fake), zeros)
        d_loss.backward()
        self.opt_d.step()

        self.opt_g.zero_grad()
        g_loss = self.bce(self.D(fake), ones)
        g_loss.backward()
        self.opt_g.step()
        return d_loss.item(), g_loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    gan = MoonGAN()
    for it in range(120):
        d, g = gan.step(two_moons(64))
        if it % 40 == 39:
            print(f"iter {it + 1}: d={d:.3f} g={g:.3f}")
