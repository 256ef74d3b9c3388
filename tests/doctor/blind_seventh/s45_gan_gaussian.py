"""LSGAN with a reconstruction-free generator on a 1-d Gaussian."""
import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, nz=3):
        super().__init__()
        self.nz = nz
        self.net = nn.Sequential(nn.Linear(nz, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, n):
        return self.net(torch.randn(n, self.nz))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


class LSGAN:
    def __init__(self, lr=5e-3):
        self.G, self.D = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr)
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=lr)

    def scores(self, real, fake):
        return self.D(real), self.D(fake.detach())

    def d_step(self, real):
        d_real, d_fake = self.scores(real, self.G(len(real)))
        loss = (d_real - 1).pow(2).mean() + d_fake.pow(2).mean()
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def g_step(self, real):
        _, d_fake = self.scores(real, self.G(len(real)))
        loss = (d_fake - 1).pow(2).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()


def main(steps=200):
    torch.manual_seed(0)
    gan = LSGAN()
    for step in range(steps):
        real = 1.5 + 0.5 * torch.randn(64, 1)
        d, g = gan.d_step(real), gan.g_step(real)
        if step % 50 == 0:
            with torch.no_grad():
                mean = gan.G(256).mean().item()
            print(f"{step} D {d:.3f} G {g:.3f} generated mean {mean:.3f}")
    return gan


if __name__ == "__main__":
    gan = main()
