import math

import torch
import torch.nn as nn


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.ready = False

    def forward(self, x):
        if self.training and not self.ready:
            with torch.no_grad():
                self.loc.copy_(x.mean(0))
                self.log_scale.copy_(-x.std(0).log())
        z = (x - self.loc) * self.log_scale.exp()
        return z, self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, swap):
        super().__init__()
        self.swap = swap
        self.net = nn.Sequential(nn.Linear(dim // 2, 32), nn.ReLU(), nn.Linear(32, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.swap:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = torch.cat([b, a] if self.swap else [a, b], dim=1)
        return out, s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=2, depth=3):
        super().__init__()
        layers = []
        for k in range(depth):
            layers += [ActNorm(dim), Coupling(dim, swap=bool(k % 2))]
        self.layers = nn.ModuleList(layers)

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, logdet = layer(x)
            total = total + logdet
        base = -0.5 * (x**2 + math.log(2 * math.pi)).sum(1)
        return base + total


torch.manual_seed(52)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
for it in range(200):
    u = torch.randn(128, 2)
    x = torch.stack([u[:, 0], 0.5 * u[:, 0] ** 2 + 0.3 * u[:, 1]], dim=1)
    nll = -flow.log_prob(x).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    if it % 50 == 0:
        print(f"it {it:3d} nll {nll.item():.4f}")
