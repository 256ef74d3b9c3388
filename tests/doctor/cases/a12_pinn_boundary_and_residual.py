import math

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Field(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


class PoissonProblem:
    """u'' = -pi^2 sin(pi x) on [0, 1] with u(0) = u(1) = 0."""

    def __init__(self, points):
        self.x = torch.linspace(0, 1, points).unsqueeze(1)
        self.force = -(math.pi**2) * torch.sin(math.pi * self.x)

    def losses(self, field):
        x = self.x.clone().requires_grad_(True)
        u = field(x)
        u_xx = derivative(derivative(u, x), x)
        yield "boundary", 10.0 * (u[0] ** 2 + u[-1] ** 2).sum()
        yield "residual", 0.05 * (u_xx - self.force)[1:-1].pow(2).mean()


def solve(problem, field, steps):
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
    for step in range(steps):
        optimizer.zero_grad()
        report = []
        for name, loss in problem.losses(field):
            loss.backward()
            report.append(f"{name} {loss.item():.5f}")
        optimizer.step()
        if step % 20 == 0:
            print(step, *report)


if __name__ == "__main__":
    problem = PoissonProblem(points=24)
    field = Field()
    solve(problem, field, steps=61)
    with torch.no_grad():
        error = (field(problem.x) - torch.sin(math.pi * problem.x)).abs().max()
    print("largest error", round(error.item(), 3))
