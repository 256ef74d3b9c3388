"""PINN for a damped spring: Adam first, LBFGS afterwards, collocation points reused throughout."""
import torch
import torch.nn as nn

torch.manual_seed(0)
ZETA, OMEGA = 0.1, 2.0
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
t = torch.linspace(0, 2, 60).view(-1, 1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)


def d(u, x):
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]


def loss_fn():
    u = net(t)
    du = d(u, t)
    ddu = d(du, t)
    pde = (ddu + 2 * ZETA * OMEGA * du + OMEGA ** 2 * u).pow(2).mean()
    u0 = net(t0)
    start = (u0 - 1).pow(2).mean() + d(u0, t0).pow(2).mean()
    return pde + 10 * start


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(60):
    adam.zero_grad()
    loss = loss_fn()
    loss.backward()
    adam.step()
print(f"after Adam {loss.item():.4f}")

lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=15, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    value = loss_fn()
    value.backward()
    return value


for outer in range(3):
    value = lbfgs.step(closure)
    print(f"LBFGS round {outer}: {value.item():.5f}")
