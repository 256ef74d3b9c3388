"""PINN for the heat equation u_t = k u_xx on [0, 1]."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float32)
K = 0.1


class Field(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def gradient(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), retain_graph=True)[0]


def pde_residual(model, n):
    x = torch.rand(n, 1, requires_grad=True)
    t = torch.rand(n, 1, requires_grad=True)
    u = model(x, t)
    u_t = gradient(u, t)
    u_x = gradient(u, x)
    u_xx = gradient(u_x, x)
    return u_t - K * u_xx


def initial_loss(model, n):
    x = torch.rand(n, 1)
    return (model(x, torch.zeros_like(x)) - torch.sin(math.pi * x)).pow(2).mean()


def boundary_loss(model, n):
    t = torch.rand(n, 1)
    left, right = torch.zeros_like(t), torch.ones_like(t)
    return model(left, t).pow(2).mean() + model(right, t).pow(2).mean()


model = Field()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(80):
    opt.zero_grad()
    res = pde_residual(model, 64).pow(2).mean()
    loss = res + initial_loss(model, 32) + boundary_loss(model, 32)
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(f"{it}: pde {res.item():.4e} total {loss.item():.4e}")
