import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import deque

torch.manual_seed(109)


class Meter:
    def __init__(self, window=20):
        self.recent = deque(maxlen=window)
        self.ema = None
        self.all = []

    def add(self, value):
        self.recent.append(value)
        self.all.append(value)
        self.ema = value if self.ema is None else 0.9 * self.ema + 0.1 * value

    @property
    def mean(self):
        return sum(self.recent) / len(self.recent)


class WhiteningReg(nn.Module):
    """Pulls batch features towards zero mean relative to a running mean."""

    def __init__(self, dim, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running", torch.zeros(dim))

    def forward(self, f):
        mean = f.mean(0)
        penalty = (mean - self.running).pow(2).sum()
        self.running = (1 - self.momentum) * self.running + self.momentum * mean.detach()
        return penalty


body = nn.Sequential(nn.Linear(5, 32), nn.ELU(), nn.Linear(32, 8))
head = nn.Linear(8, 1)
reg = WhiteningReg(8)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=5e-3)
meters = {"mse": Meter(), "reg": Meter()}
for step in range(200):
    x = torch.randn(32, 5)
    y = x[:, :1] * x[:, 1:2]
    f = body(x)
    mse, r = F.mse_loss(head(f), y), reg(f)
    loss = mse + 0.1 * r
    opt.zero_grad()
    loss.backward()
    opt.step()
    meters["mse"].add(mse.item())
    meters["reg"].add(r.item())
    if step % 50 == 0:
        print(step, {k: round(m.mean, 4) for k, m in meters.items()}, round(meters["mse"].ema, 4))
