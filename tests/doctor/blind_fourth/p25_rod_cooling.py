"""Physics informed network for the heat equation u_t = 0.1 u_xx on [0, 1]."""
import math

import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)


class Field(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(u, v):
    return torch.autograd.grad(u, v, grad_outputs=torch.ones_like(u), retain_graph=True)[0]


def residual(field, x, t):
    x = x.clone().requires_grad_(True)
    t = t.clone().requires_grad_(True)
    u = field(x, t)
    u_t = derivative(u, t)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return u_t - 0.1 * u_xx


field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
x0 = torch.linspace(0, 1, 64).unsqueeze(1)
u0 = torch.sin(math.pi * x0)
edges = torch.tensor([[0.0], [1.0]]).repeat(16, 1)

for it in range(201):
    x, t = torch.rand(128, 1), torch.rand(128, 1)
    loss_pde = residual(field, x, t).pow(2).mean()
    loss_init = (field(x0, torch.zeros_like(x0)) - u0).pow(2).mean()
    loss_edge = field(edges, torch.rand(32, 1)).pow(2).mean()
    loss = loss_pde + loss_init + loss_edge
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(it, f"total {loss.item():.4f} pde {loss_pde.item():.4f}")
