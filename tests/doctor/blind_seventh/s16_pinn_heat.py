"""PINN for u'' = -pi^2 sin(pi x) with u(0) = u(1) = 0."""
import math

import torch
import torch.nn as nn


class Field(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x)


def derivative(u, x):
    return torch.autograd.grad(u, x, grad_outputs=torch.ones_like(u), retain_graph=True)[0]


def residual(model, x):
    u = model(x)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return u_xx + math.pi ** 2 * torch.sin(math.pi * x)


def train(steps=150, n=64):
    torch.manual_seed(0)
    model = Field()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    edge = torch.tensor([[0.0], [1.0]])
    for step in range(steps):
        x = torch.rand(n, 1, requires_grad=True)
        loss_pde = residual(model, x).pow(2).mean()
        loss_bc = model(edge).pow(2).mean()
        loss = loss_pde + 10 * loss_bc
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"{step:4d} pde {loss_pde.item():.4f} bc {loss_bc.item():.5f}")
    with torch.no_grad():
        grid = torch.linspace(0, 1, 21)[:, None]
        err = (model(grid) - torch.sin(math.pi * grid)).abs().max()
    print("max error", err.item())


if __name__ == "__main__":
    train()
