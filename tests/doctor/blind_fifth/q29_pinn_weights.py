import torch
import torch.nn as nn

torch.manual_seed(31)
torch.set_num_threads(1)


class PINN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.lam = 1.0

    def forward(self, x):
        return self.net(x)


def grads(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(model, x):
    u = model(x)
    u_x = grads(u, x)
    u_xx = grads(u_x, x)
    return u_xx + (torch.pi**2) * torch.sin(torch.pi * x)


def max_abs(gs):
    return torch.cat([g.abs().flatten() for g in gs if g is not None]).max()


def mean_abs(gs):
    return torch.cat([g.abs().flatten() for g in gs if g is not None]).mean()


def update_lambda(model, loss_r, loss_b, alpha=0.9):
    """Learning rate annealing of Wang et al."""
    params = list(model.parameters())
    gr = torch.autograd.grad(loss_r, params, allow_unused=True)
    gb = torch.autograd.grad(loss_b, params)
    lam = max_abs(gr) / (mean_abs(gb) + 1e-8)
    model.lam = alpha * model.lam + (1 - alpha) * lam.item()


model = PINN()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
x_b = torch.tensor([[0.0], [1.0]])
x_r = torch.linspace(0, 1, 32).view(-1, 1).requires_grad_()

for it in range(300):
    loss_r = residual(model, x_r).pow(2).mean()
    loss_b = model(x_b).pow(2).mean()
    if it % 10 == 0:
        update_lambda(model, loss_r, loss_b)
    loss = loss_r + model.lam * loss_b
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0 or it == 299:
        with torch.no_grad():
            err = (model(x_r) - torch.sin(torch.pi * x_r)).abs().max()
        print(f"iter {it} loss {loss_r.item() + loss_b.item():.4f} lambda {model.lam:.1f} error {err:.3f}")
