import math

import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.half = dim // 2
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.Tanh(), nn.Linear(hidden, 2 * self.half))

    def forward(self, x):
        a, b = x[:, : self.half], x[:, self.half:]
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, dim=-1)
        scale = torch.exp(torch.tanh(log_s))
        scale += 1e-4
        b = b * scale + t
        logdet = scale.log().sum(-1)
        parts = (b, a) if self.flip else (a, b)
        return torch.cat(parts, -1), logdet


class Flow(nn.Module):
    def __init__(self, dim=2, layers=4, hidden=24):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, hidden, flip=i % 2 == 1) for i in range(layers))
        self.dim = dim

    def log_prob(self, x):
        total = x.new_zeros(x.size(0))
        for layer in self.layers:
            x, ld = layer(x)
            total = total + ld
        base = -0.5 * (x.pow(2).sum(-1) + self.dim * math.log(2 * math.pi))
        return base + total


def rings(n):
    r = torch.where(torch.rand(n) < 0.5, 1.0, 2.5)
    phi = torch.rand(n) * 2 * math.pi
    return torch.stack([r * phi.cos(), r * phi.sin()], 1) + 0.08 * torch.randn(n, 2)


def main():
    torch.manual_seed(4)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
    for it in range(80):
        nll = -flow.log_prob(rings(128)).mean()
        opt.zero_grad()
        nll.backward()
        opt.step()
    print("nll", round(nll.item(), 3))


main()
