import torch
import torch.nn as nn

torch.manual_seed(15)
torch.set_num_threads(1)


class GAN:
    def __init__(self, zdim=8, lr=1e-3):
        self.zdim = zdim
        self.G = nn.Sequential(nn.Linear(zdim, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
        self.D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
        self.optG = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.5, 0.999))
        self.optD = torch.optim.Adam(self.D.parameters(), lr=lr, betas=(0.5, 0.999))
        self.bce = nn.BCEWithLogitsLoss()

    def step(self, real):
        n = real.size(0)
        one, zero = torch.ones(n, 1), torch.zeros(n, 1)
        fake = self.G(torch.randn(n, self.zdim))

        self.D.zero_grad()
        err_real = self.bce(self.D(real), one)
        err_real.backward()
        err_fake = self.bce(self.D(fake.detach()), zero)
        err_fake.backward()
        self.optD.step()

        self.G.zero_grad()
        err_g = self.bce(self.D(fake), one)
        err_g.backward()
        self.optG.step()
        return err_real.item() + err_fake.item(), err_g.item()


def ring(n):
    a = 6.2832 * torch.rand(n)
    return 1.5 * torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


gan = GAN()
for it in range(500):
    d, g = gan.step(ring(64))
    if it % 125 == 0 or it == 499:
        with torch.no_grad():
            radius = gan.G(torch.randn(256, 8)).norm(dim=1).mean().item()
        print(f"iter {it} D {d:.3f} G {g:.3f} radius {radius:.3f}")
