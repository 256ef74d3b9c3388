import math
import torch
import torch.nn as nn

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)


class MLP(nn.Module):
    def __init__(self, width=24, depth=2):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


def derivative(y, x):
    """dy/dx for a batch of scalars"""
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y))[0]


def pde_residual(model, x):
    # u'' + pi^2 sin(pi x) = 0   with u(0) = u(1) = 0
    u = model(x)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return u_xx + math.pi ** 2 * torch.sin(math.pi * x)


def boundary(model):
    xb = torch.tensor([[0.0], [1.0]])
    return model(xb).pow(2).mean()


model = MLP()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=300)

for it in range(300):
    x = torch.rand(32, 1, requires_grad=True)
    loss_pde = pde_residual(model, x).pow(2).mean()
    loss_bc = boundary(model)
    loss = loss_pde + 50.0 * loss_bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 100 == 0:
        print(f"{it} pde {loss_pde.item():.4f} bc {loss_bc.item():.5f}")

with torch.no_grad():
    xs = torch.linspace(0, 1, 50)[:, None]
    err = (model(xs) - torch.sin(math.pi * xs)).abs().max()
print("max error", err.item())
