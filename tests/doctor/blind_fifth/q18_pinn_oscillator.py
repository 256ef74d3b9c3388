import torch
import torch.nn as nn

torch.manual_seed(123)
torch.set_num_threads(1)

# damped oscillator  m u'' + mu u' + k u = 0,  u(0) = 1, u'(0) = 0
d, w0 = 1.5, 5.0
mu, k = 2 * d, w0**2


class FCN(nn.Module):
    def __init__(self, n_in=1, n_out=1, n_hidden=32, n_layers=2):
        super().__init__()
        self.fcs = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh())
        self.fch = nn.Sequential(*[nn.Sequential(nn.Linear(n_hidden, n_hidden), nn.Tanh()) for _ in range(n_layers - 1)])
        self.fce = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        return self.fce(self.fch(self.fcs(x)))


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y))[0]


def exact(t):
    w = (w0**2 - d**2) ** 0.5
    phi = torch.atan(torch.tensor(-d / w))
    A = 1 / (2 * torch.cos(phi))
    return torch.exp(-d * t) * 2 * A * torch.cos(phi + w * t)


pinn = FCN()
t_bc = torch.zeros(1, 1).requires_grad_(True)
t_col = torch.linspace(0, 1, 40).view(-1, 1).requires_grad_(True)
optimizer = torch.optim.Adam(pinn.parameters(), lr=5e-3)

for i in range(400):
    optimizer.zero_grad()
    u0 = pinn(t_bc)
    du0 = derivative(u0, t_bc)
    loss_bc = (u0 - 1).pow(2).mean() + 1e-1 * du0.pow(2).mean()

    u = pinn(t_col)
    du = derivative(u, t_col)
    d2u = derivative(du, t_col)
    loss_phys = (d2u + mu * du + k * u).pow(2).mean()

    loss = loss_bc + 1e-3 * loss_phys
    loss.backward()
    optimizer.step()
    if i % 100 == 0 or i == 399:
        with torch.no_grad():
            err = (pinn(t_col) - exact(t_col)).pow(2).mean().sqrt()
        print(f"iter {i} loss {loss.item():.5f} rmse {err.item():.4f}")
