"""Physics-informed network for u_t = 0.1 u_xx with sine initial condition."""
import math
import torch
import torch.nn as nn

torch.manual_seed(43)


class PINN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def d(out, inp):
    return torch.autograd.grad(out, inp, torch.ones_like(out), create_graph=True)[0]


def residual(model, n=64):
    x = torch.rand(n, 1, requires_grad=True)
    t = torch.rand(n, 1, requires_grad=True)
    u = model(x, t)
    u_x = d(u, x)
    return d(u, t) - 0.1 * d(u_x, x)


def boundary(model, n=32):
    x = torch.rand(n, 1)
    zero, one, t = torch.zeros(n, 1), torch.ones(n, 1), torch.rand(n, 1)
    initial = model(x, zero) - torch.sin(math.pi * x)
    return (initial ** 2).mean() + (model(zero, t) ** 2).mean() + (model(one, t) ** 2).mean()


model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
weights = {"pde": 1.0, "bc": 1.0}

for it in range(120):
    pde = (residual(model) ** 2).mean()
    bc = boundary(model)
    if it % 20 == 0:
        # balance the two terms by the size of their gradients, treated as constants
        last = model.net[-1].weight
        gp = torch.autograd.grad(pde, last, retain_graph=True)[0].norm()
        gb = torch.autograd.grad(bc, last, retain_graph=True)[0].norm()
        weights["bc"] = float((gp / (gb + 1e-8)).clamp(0.5, 10))
    loss = weights["pde"] * pde + weights["bc"] * bc
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 40 == 39:
        print(f"it {it + 1} pde {pde.item():.5f} bc {bc.item():.5f}")
