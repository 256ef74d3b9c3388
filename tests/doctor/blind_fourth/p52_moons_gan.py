import math

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
device = "cpu"
nz, batch_size = 4, 64


def mlp(sizes, last=None):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    layers = layers[:-1]
    if last is not None:
        layers.append(last)
    return nn.Sequential(*layers)


def sample_real(n):
    angle = torch.rand(n) * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


netG = mlp([nz, 32, 32, 2]).to(device)
netD = mlp([2, 32, 32, 1], nn.Sigmoid()).to(device)
criterion = nn.BCELoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
ones = torch.ones(batch_size, 1)
zeros = torch.zeros(batch_size, 1)

for i in range(150):
    # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
    netD.zero_grad()
    errD_real = criterion(netD(sample_real(batch_size)), ones)
    errD_real.backward()
    noise = torch.randn(batch_size, nz)
    fake = netG(noise)
    errD_fake = criterion(netD(fake), zeros)
    errD_fake.backward()
    optimizerD.step()

    # (2) update G: maximize log(D(G(z)))
    netG.zero_grad()
    errG = criterion(netD(fake), ones)
    errG.backward()
    optimizerG.step()

    if i % 50 == 0:
        print(i, "D", (errD_real + errD_fake).item(), "G", errG.item())

with torch.no_grad():
    points = netG(torch.randn(500, nz))
print("mean radius of samples", points.norm(dim=1).mean().item())
