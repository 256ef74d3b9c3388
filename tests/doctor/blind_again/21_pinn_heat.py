import math

import torch
import torch.nn as nn


class HeatNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, xt):
        return self.layers(xt)


def grad(out, inp):
    return torch.autograd.grad(out, inp, torch.ones_like(out), create_graph=True)[0]


def residual(net, n=128, kappa=0.1):
    xt = torch.rand(n, 2).requires_grad_(True)
    u = net(xt)
    x, t = xt[:, :1], xt[:, 1:]
    u_t = grad(u, t)
    u_x = grad(u, x)
    u_xx = grad(u_x, x)
    return u_t - kappa * u_xx


def boundary(net, n=64):
    x = torch.rand(n, 1)
    start = net(torch.cat([x, torch.zeros_like(x)], 1)) - torch.sin(math.pi * x)
    t = torch.rand(n, 1)
    left = net(torch.cat([torch.zeros_like(t), t], 1))
    right = net(torch.cat([torch.ones_like(t), t], 1))
    return start.pow(2).mean() + left.pow(2).mean() + right.pow(2).mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    net = HeatNet()
    adam = torch.optim.Adam(net.parameters(), lr=5e-3)
    for it in range(60):
        adam.zero_grad()
        pde = residual(net).pow(2).mean()
        bc = boundary(net)
        (pde + bc).backward()
        adam.step()
        if it % 20 == 19:
            print(f"{it + 1}: pde {pde.item():.4f} bc {bc.item():.4f}")
