"""Deep critic with activation checkpointing, zero centred gradient penalty on the real samples."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class ResBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.b = nn.Linear(width, width)

    def forward(self, x):
        return x + self.b(F.silu(self.a(x)))


class Critic(nn.Module):
    def __init__(self, width=32, depth=4):
        super().__init__()
        self.inp = nn.Linear(2, width)
        self.blocks = nn.ModuleList(ResBlock(width) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=True)
        return self.out(h).squeeze(1)


def r1_penalty(critic, real):
    real = real.detach().requires_grad_(True)
    score = critic(real)
    grad = torch.autograd.grad(score.sum(), real, create_graph=True)[0]
    return score, grad.pow(2).sum(1).mean()


critic = Critic()
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(20):
    real = torch.randn(64, 2) * torch.tensor([1.0, 0.2])
    fake = torch.randn(64, 2)
    score_real, r1 = r1_penalty(critic, real)
    loss = F.softplus(-score_real).mean() + F.softplus(critic(fake)).mean() + 0.5 * r1
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, f"loss {loss.item():.3f} r1 {r1.item():.4f}")
