"""Conditional GAN, 4 classes of gaussian blobs."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass

torch.manual_seed(0)


@dataclass
class Hp:
    z: int = 6
    classes: int = 4
    lr: float = 1e-3
    steps: int = 150
    batch: int = 64


class Cond(nn.Module):
    def __init__(self, n_in, n_out, classes):
        super().__init__()
        self.label = nn.Embedding(classes, 8)
        self.net = nn.Sequential(nn.Linear(n_in + 8, 32), nn.LeakyReLU(0.2), nn.Linear(32, n_out))

    def forward(self, x, y):
        return self.net(torch.cat([x, self.label(y)], 1))


class CGAN:
    def __init__(self, hp):
        self.hp = hp
        self.G = Cond(hp.z, 2, hp.classes)
        self.D = Cond(2, 1, hp.classes)
        self.og = torch.optim.Adam(self.G.parameters(), lr=hp.lr, betas=(0.5, 0.999))
        self.od = torch.optim.Adam(self.D.parameters(), lr=hp.lr, betas=(0.5, 0.999))

    def generate(self, y):
        return self.G(torch.randn(len(y), self.hp.z), y)

    def critic_score(self, x, y):
        return self.D(x.detach(), y)

    def step_d(self, x, y):
        real = self.critic_score(x, y)
        fake = self.critic_score(self.generate(y), y)
        loss = F.softplus(-real).mean() + F.softplus(fake).mean()
        self.od.zero_grad()
        loss.backward()
        self.od.step()
        return loss.item()

    def step_g(self, y):
        score = self.critic_score(self.generate(y), y)
        loss = F.softplus(-score).mean()
        self.og.zero_grad()
        loss.backward()
        self.og.step()
        return loss.item()


hp = Hp()
gan = CGAN(hp)
centers = torch.tensor([[2., 0.], [0., 2.], [-2., 0.], [0., -2.]])
for step in range(hp.steps):
    y = torch.randint(0, hp.classes, (hp.batch,))
    x = centers[y] + 0.2 * torch.randn(hp.batch, 2)
    ld = gan.step_d(x, y)
    lg = gan.step_g(y)
    if step % 50 == 0:
        print(f"{step} D {ld:.3f} G {lg:.3f}")

labels = torch.arange(4).repeat_interleave(50)
with torch.no_grad():
    gap = (gan.generate(labels) - centers[labels]).norm(dim=1).mean().item()
print(f"mean distance to the class center {gap:.3f}")
