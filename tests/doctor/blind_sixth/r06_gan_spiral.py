import torch
from torch import nn, optim

torch.manual_seed(42)
latent = 8
bs = 64


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.LeakyReLU(0.2))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(block(latent, 32), block(32, 32), nn.Linear(32, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(block(2, 32), block(32, 32), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).view(-1)


def sample_real(n):
    t = torch.rand(n) * 3 + 0.5
    return torch.stack([t * torch.cos(2 * t), t * torch.sin(2 * t)], dim=1) / 3.5


netG, netD = Generator(), Discriminator()
optG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
optD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(bs), torch.zeros(bs)

for it in range(30):
    # train D
    netD.zero_grad()
    real = sample_real(bs)
    errD_real = bce(netD(real), ones)
    fake = netG(torch.randn(bs, latent))
    errD_fake = bce(netD(fake), zeros)
    errD = errD_real + errD_fake
    errD.backward()
    optD.step()

    # train G
    netG.zero_grad()
    errG = bce(netD(fake), ones)
    errG.backward()
    optG.step()

    if it % 10 == 0:
        print(f"[{it}] D {errD.item():.3f}  G {errG.item():.3f}")
