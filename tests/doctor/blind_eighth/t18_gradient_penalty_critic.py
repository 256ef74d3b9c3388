"""Estimate the Wasserstein distance between two clouds with a penalised critic."""
import torch
from torch import autograd, nn, optim

torch.manual_seed(17)


def cloud(n, shift):
    return torch.randn(n, 2) * 0.5 + torch.tensor([shift, 0.0])


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, x):
        return self.f(x)


def input_gradient(critic, pts):
    pts = pts.detach().requires_grad_(True)
    out = critic(pts).sum()
    (g,) = autograd.grad(out, pts, retain_graph=True)
    return g


def penalty(critic, a, b):
    u = torch.rand(a.shape[0], 1)
    g = input_gradient(critic, u * a + (1 - u) * b)
    return ((g.norm(dim=1) - 1) ** 2).mean()


def train(steps=250, weight=10.0):
    critic = Critic()
    opt = optim.Adam(critic.parameters(), lr=2e-3)
    for step in range(steps):
        a, b = cloud(128, 0.0), cloud(128, 2.0)
        distance = critic(b).mean() - critic(a).mean()
        gp = penalty(critic, a, b)
        loss = -distance + weight * gp
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            print(f"step {step + 1}: estimate {distance.item():.3f} penalty {gp.item():.3f}")


train()
print("true distance is 2.0")
