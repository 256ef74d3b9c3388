import torch
import torch.nn as nn
import torch.nn.functional as F


def block(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.LeakyReLU(0.2), nn.Linear(32, o))


class WaveGAN:
    def __init__(self, z=4, d=16):
        self.z = z
        self.G, self.D = block(z, d), block(d, 1)
        self.og = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.od = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def iterate(self, real):
        fake = self.G(torch.randn(len(real), self.z))

        d_loss = F.softplus(self.D(fake.detach())).mean() + F.softplus(-self.D(real)).mean()
        self.od.zero_grad()
        d_loss.backward()
        self.od.step()

        g_loss = F.softplus(-self.D(fake)).mean()
        self.og.zero_grad()
        g_loss.backward()
        self.og.step()
        return d_loss.item(), g_loss.item()


def waves(n, d=16):
    phase = 6.28 * torch.rand(n, 1)
    return torch.sin(torch.arange(d) * 0.5 + phase)


torch.manual_seed(0)
gan = WaveGAN()
for it in range(80):
    d, g = gan.iterate(waves(32))
print(f"d {d:.3f} g {g:.3f}")
