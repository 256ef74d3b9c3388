import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F


@contextlib.contextmanager
def frozen(module):
    for p in module.parameters():
        p.requires_grad_(False)
    try:
        yield module
    finally:
        for p in module.parameters():
            p.requires_grad_(True)


class Painter(nn.Module):
    def __init__(self, noise=6):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, 24), nn.ReLU(inplace=True), nn.Linear(24, 2))

    def forward(self, n):
        return self.net(torch.randn(n, self.noise))


def critic_step(critic, painter, optimizer, real):
    with torch.no_grad():
        fake = painter(len(real))
    optimizer.zero_grad()
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    real.requires_grad_()
    slope, = torch.autograd.grad(critic(real).sum(), real, create_graph=True)
    loss = loss + 0.5 * slope.square().sum(1).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def painter_step(critic, painter, optimizer):
    optimizer.zero_grad()
    with frozen(critic):
        loss = F.softplus(-critic(painter(16))).mean()
        loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(1)
painter = Painter()
critic = nn.Sequential(nn.Linear(2, 24), nn.SiLU(), nn.Linear(24, 1))
optimizers = [torch.optim.Adam(m.parameters(), lr=2e-3) for m in (critic, painter)]
for step in range(5):
    angle = torch.rand(16) * 6.283
    real = torch.stack([angle.cos(), angle.sin()], 1)
    d = critic_step(critic, painter, optimizers[0], real)
    g = painter_step(critic, painter, optimizers[1])
    print(step, f"{d:.4f} {g:.4f}")
