import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_num_threads(1)
Z = 5


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 2))

    def forward(self, n):
        return self.net(torch.randn(n, Z))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 40), nn.LeakyReLU(0.2), nn.Linear(40, 40), nn.LeakyReLU(0.2))
        self.out = nn.Linear(40, 1)

    def forward(self, x):
        return self.out(self.net(x)).squeeze(1)


def ring(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


gen, disc = Generator(), Critic()
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(disc.parameters(), lr=3e-3, betas=(0.5, 0.9))

for it in range(250):
    opt_g.zero_grad()
    opt_d.zero_grad()

    fake = gen(64)
    g_loss = F.softplus(-disc(fake)).mean()
    g_loss.backward()
    opt_g.step()

    real = ring(64)
    d_loss = F.softplus(-disc(real)).mean() + F.softplus(disc(fake.detach())).mean()
    d_loss.backward()
    opt_d.step()

    if it % 50 == 0:
        print(f"{it:3d} g {g_loss.item():.3f} d {d_loss.item():.3f}")

with torch.no_grad():
    print("radius", gen(400).norm(dim=1).mean().item())
