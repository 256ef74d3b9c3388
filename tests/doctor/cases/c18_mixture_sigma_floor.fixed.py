import math
from dataclasses import dataclass, field
import torch
import torch.nn as nn


@dataclass
class Config:
    components: int = 3
    hidden: int = 20
    lr: float = 4e-3
    steps: int = 5
    floor: float = 1e-3
    seed: int = 0
    log: list = field(default_factory=list)


class MixtureDensityNetwork(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.trunk = nn.Sequential(nn.Linear(1, cfg.hidden), nn.Tanh())
        self.pi = nn.Linear(cfg.hidden, cfg.components)
        self.mu = nn.Linear(cfg.hidden, cfg.components)
        self.log_sigma = nn.Linear(cfg.hidden, cfg.components)

    def forward(self, x):
        h = self.trunk(x)
        sigma = self.log_sigma(h).exp()
        sigma = sigma + self.cfg.floor
        return self.pi(h).log_softmax(-1), self.mu(h), sigma

    def nll(self, x, y):
        log_pi, mu, sigma = self(x)
        z = (y - mu) / sigma
        log_prob = -0.5 * z ** 2 - sigma.log() - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(log_pi + log_prob, -1).mean()


def inverse_problem(n, gen):
    y = torch.rand(n, 1, generator=gen) * 2 - 1
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn(n, 1, generator=gen)
    return x, y


def run(cfg: Config):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    model = MixtureDensityNetwork(cfg)
    opt = torch.optim.NAdam(model.parameters(), lr=cfg.lr)
    for _ in range(cfg.steps):
        loss = model.nll(*inverse_problem(50, gen))
        opt.zero_grad()
        loss.backward()
        opt.step()
        cfg.log.append(round(loss.item(), 4))
    return cfg.log


print(run(Config()))
