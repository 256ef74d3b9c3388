import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class ResidualBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class DeepTabular(nn.Module):
    def __init__(self, d=16, depth=4, segment=2):
        super().__init__()
        self.blocks = nn.ModuleList(ResidualBlock(d) for _ in range(depth))
        self.segment = segment
        self.head = nn.Linear(d, 1)

    def run_segment(self, start):
        def run(x):
            for block in self.blocks[start:start + self.segment]:
                x = block(x)
            return x
        return run

    def forward(self, x):
        for start in range(0, len(self.blocks), self.segment):
            x = checkpoint(self.run_segment(start), x, use_reentrant=True)
        return self.head(x).squeeze(-1)


def friedman(n, d=16):
    x = torch.rand(n, d)
    y = 10 * torch.sin(3.14 * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x * 2 - 1, (y - 14) / 5


def fit(model, steps=80):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        x, y = friedman(64)
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(99)
    print("mse", round(fit(DeepTabular()), 4))
