import torch
import torch.nn as nn
import torch.nn.functional as F


def ring(n):
    a = 2 * torch.pi * torch.rand(n)
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, z=3):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, n):
        return self.net(torch.randn(n, self.z))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class RingGAN:
    def __init__(self):
        self.g, self.d = Generator(), Discriminator()
        self.g_opt = torch.optim.Adam(self.g.parameters(), lr=2e-3, betas=(0.5, 0.99))
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=2e-3, betas=(0.5, 0.99))

    def step(self, real):
        fake = self.g(len(real))

        self.d_opt.zero_grad()
        d_loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake.detach())).mean()
        d_loss.backward()
        self.d_opt.step()

        self.g_opt.zero_grad()
        g_loss = F.softplus(-self.d(fake)).mean()
        g_loss.backward()
        self.g_opt.step()
        return d_loss.item(), g_loss.item()


if __name__ == "__main__":
    torch.manual_seed(20)
    gan = RingGAN()
    for it in range(900):
        d, g = gan.step(ring(64))
        if it % 300 == 0:
            print(f"{it} d {d:.3f} g {g:.3f}")
    with torch.no_grad():
        print("mean radius", gan.g(500).norm(dim=1).mean().item())
