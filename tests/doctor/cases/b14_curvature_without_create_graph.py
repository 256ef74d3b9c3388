import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Field(nn.Sequential):
    def __init__(self, width=16):
        super().__init__(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )


def heat_residual(field, x, t, diffusivity=0.1):
    u = field(torch.stack([x, t], dim=1)).squeeze(1)
    ones = torch.ones_like(u)
    u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
    u_x = torch.autograd.grad(u, x, ones, retain_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
    return u_t - diffusivity * u_xx


def interior(n):
    x, t = torch.rand(2, n).unbind(0)
    return x.requires_grad_(), t.requires_grad_()


field = Field()
optimizer = torch.optim.LBFGS(field.parameters(), lr=0.5, max_iter=6, line_search_fn="strong_wolfe")
x_in, t_in = interior(64)
x_start = torch.linspace(0, 1, 24)
start = torch.stack([x_start, torch.zeros_like(x_start)], dim=1)
profile = torch.sin(torch.pi * x_start)


def closure():
    optimizer.zero_grad()
    pde = heat_residual(field, x_in, t_in).square().mean()
    initial = (field(start).squeeze(1) - profile).square().mean()
    loss = pde + 5 * initial
    loss.backward()
    return loss


for outer in range(5):
    loss = optimizer.step(closure)
    print(f"outer {outer}: {loss.item():.6f}")
