"""RealNVP style flow on two moons-like data."""
import math
import torch
from torch import nn

torch.manual_seed(5)


class AffineCoupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.half = dim // 2
        self.flip = flip
        self.net = nn.Sequential(
            nn.Linear(self.half, hidden), nn.Tanh(),
            nn.Linear(hidden, 2 * self.half),
        )

    def forward(self, x):
        z = x.flip(1) if self.flip else x.clone()
        keep = z[:, :self.half]
        log_s, t = self.net(keep).chunk(2, dim=1)
        log_s = torch.tanh(log_s)
        z[:, self.half:] = z[:, self.half:] * log_s.exp() + t
        return z, log_s.sum(dim=1)


class Flow(nn.Module):
    def __init__(self, dim=2, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(
            AffineCoupling(dim, 32, flip=bool(k % 2)) for k in range(depth))

    def log_prob(self, x):
        total = 0.0
        for layer in self.layers:
            x, ld = layer(x)
            total = total + ld
        base = -0.5 * (x ** 2).sum(1) - x.shape[1] / 2 * math.log(2 * math.pi)
        return base + total


def sample_data(n):
    a = torch.rand(n) * math.pi
    side = torch.randint(0, 2, (n,)).float()
    x = torch.cos(a) * (1 - 2 * side) + side
    y = torch.sin(a) * (1 - 2 * side) + 0.5 * side
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(60):
    nll = -flow.log_prob(sample_data(128)).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    if step % 20 == 0:
        print(step, round(nll.item(), 4))
