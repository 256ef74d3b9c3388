import torch
import torch.nn as nn

torch.manual_seed(27)
torch.set_num_threads(1)

ALPHA = 0.1


class HeatNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, xt):
        return self.f(xt)


def d(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def pde_loss(model, xt):
    xt = xt.clone().requires_grad_(True)
    u = model(xt)
    x, t = xt[:, 0:1], xt[:, 1:2]
    u_t = d(u, t)
    u_x = d(u, x)
    u_xx = d(u_x, x)
    return (u_t - ALPHA * u_xx).pow(2).mean()


def ic_bc_loss(model, n=64):
    x0 = torch.rand(n, 1)
    ic = model(torch.cat([x0, torch.zeros_like(x0)], 1)) - torch.sin(torch.pi * x0)
    tb = torch.rand(n, 1)
    left = model(torch.cat([torch.zeros_like(tb), tb], 1))
    right = model(torch.cat([torch.ones_like(tb), tb], 1))
    return ic.pow(2).mean() + left.pow(2).mean() + right.pow(2).mean()


def error(model):
    xt = torch.rand(500, 2)
    exact = torch.exp(-ALPHA * torch.pi**2 * xt[:, 1:]) * torch.sin(torch.pi * xt[:, :1])
    with torch.no_grad():
        return (model(xt) - exact).abs().mean().item()


net = HeatNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(300):
    loss = pde_loss(net, torch.rand(128, 2)) + ic_bc_loss(net)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 100 == 0 or it == 299:
        print(f"iter {it} loss {loss.item():.5f} error {error(net):.4f}")
