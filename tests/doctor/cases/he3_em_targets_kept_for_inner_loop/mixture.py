import torch
from torch import nn


class GaussianMixture:
    """Centres are fitted in closed form, not by gradient descent."""

    def __init__(self, parts, width=2):
        self.centres = torch.randn(parts, width)

    def distances(self, codes):
        return torch.cdist(codes, self.centres).square()

    def responsibilities(self, codes):
        return torch.softmax(-self.distances(codes), 1)

    def refit(self, codes, responsibility):
        weight = responsibility.sum(0)[:, None].clamp(min=1e-3)
        self.centres.copy_(responsibility.T @ codes / weight)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
        self.up = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, x):
        return self.down(x)

    def m_step_loss(self, x, responsibility, mixture):
        codes = self(x)
        compact = (responsibility * mixture.distances(codes)).sum(1).mean()
        return compact + (self.up(codes) - x).square().mean()
