"""GAN that generates short waveforms; tries to save time with one discriminator pass."""
import torch
import torch.nn as nn

torch.manual_seed(24)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class WaveGAN:
    def __init__(self, z=8, length=24):
        self.z = z
        self.gen = mlp(z, 48, length)
        self.dis = mlp(length, 48, 1)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(self.dis.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def train_step(self, real):
        n = real.size(0)
        ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)

        fake = self.gen(torch.randn(n, self.z))
        d_fake = self.dis(fake)

        d_loss = self.bce(self.dis(real), ones) + self.bce(d_fake, zeros)
        self.opt_d.zero_grad()
        d_loss.backward(retain_graph=True)
        self.opt_d.step()

        g_loss = self.bce(d_fake, ones)
        self.opt_g.zero_grad()
        g_loss.backward()
        self.opt_g.step()
        return d_loss.item(), g_loss.item()


def waves(n, length=24):
    t = torch.linspace(0, 6.28, length)
    return torch.sin(t * (1 + torch.rand(n, 1)) + torch.rand(n, 1))


gan = WaveGAN()
for step in range(40):
    d, g = gan.train_step(waves(32))
    if step % 10 == 0:
        print(f"step {step}: D {d:.3f} G {g:.3f}")
