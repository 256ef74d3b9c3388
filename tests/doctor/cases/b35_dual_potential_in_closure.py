import math

import torch
import torch.nn as nn


def make_sinkhorn(points, epsilon=0.3, rounds=8):
    """Entropic transport cost between two clouds; starts from the potential of the last call."""
    log_mass = -math.log(points)
    potential = torch.zeros(points)

    def transport(x, y):
        nonlocal potential
        g = potential
        cost = torch.cdist(x, y).square()
        for _ in range(rounds):
            f = -epsilon * torch.logsumexp((g[None, :] - cost) / epsilon + log_mass, dim=1)
            g = -epsilon * torch.logsumexp((f[:, None] - cost) / epsilon + log_mass, dim=0)
        potential = g
        return f.mean() + g.mean()

    return transport


class Flow(nn.Module):
    def __init__(self, dim=2, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return x + self.net(x)


def ring(n):
    angle = torch.arange(n) * (2 * math.pi / n)
    return 2 * torch.stack([angle.cos(), angle.sin()], dim=1)


def main(points=40, steps=30):
    torch.manual_seed(0)
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    transport = make_sinkhorn(points)
    target = ring(points)
    source = torch.randn(points, 2) * 0.5
    for step in range(steps):
        loss = transport(flow(source), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} cost {loss.item():.4f}")


if __name__ == "__main__":
    main()
