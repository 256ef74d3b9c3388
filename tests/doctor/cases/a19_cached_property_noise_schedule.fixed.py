from dataclasses import dataclass


import torch
import torch.nn as nn


@dataclass
class Config:
    steps: int = 20
    data_dim: int = 2
    hidden: int = 32
    lr: float = 4e-3
    iterations: int = 24


class LearnedSchedule(nn.Module):
    """Signal level per diffusion step, decreasing by construction."""

    def __init__(self, steps):
        super().__init__()
        self.raw = nn.Parameter(torch.full((steps,), -2.0))

    @property
    def alpha_bar(self):
        return torch.cumprod(1 - 0.5 * torch.sigmoid(self.raw), dim=0)

    def noisy(self, x, t, noise):
        level = self.alpha_bar[t].unsqueeze(1)
        return level.sqrt() * x + (1 - level).sqrt() * noise

    def smoothness(self):
        return self.raw.diff().pow(2).mean()


class Diffusion(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.schedule = LearnedSchedule(cfg.steps)
        self.time = nn.Embedding(cfg.steps, cfg.hidden)
        self.inp = nn.Linear(cfg.data_dim, cfg.hidden)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(cfg.hidden, cfg.data_dim))

    def loss(self, x):
        t = torch.randint(0, self.cfg.steps, (len(x),))
        noise = torch.randn_like(x)
        x_t = self.schedule.noisy(x, t, noise)
        predicted = self.out(self.inp(x_t) + self.time(t))
        return (predicted - noise).pow(2).mean() + 0.1 * self.schedule.smoothness()


def checkerboard(n):
    corner = torch.randint(-2, 2, (n, 1))
    other = 2 * torch.randint(-1, 1, (n, 1)) + corner.remainder(2)
    return torch.cat([corner, other], dim=1) + torch.rand(n, 2)


def main(cfg):
    torch.manual_seed(8)
    model = Diffusion(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for it in range(cfg.iterations):
        loss = model.loss(checkerboard(64))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if it % 8 == 0:
            print(it, f"{loss.item():.4f}")


if __name__ == "__main__":
    main(Config())
