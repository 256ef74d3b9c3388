"""Wave equation u_tt = c^2 u_xx on a string, solved with a small network."""
import torch
import torch.nn as nn

torch.manual_seed(1)
C = 1.0


class Field(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(y, wrt):
    return torch.autograd.grad(y, wrt, grad_outputs=torch.ones_like(y),
                               retain_graph=True)[0]


def residual(field, x, t):
    u = field(x, t)
    u_x = derivative(u, x)
    u_t = derivative(u, t)
    u_xx = derivative(u_x, x)
    u_tt = derivative(u_t, t)
    return u_tt - C**2 * u_xx


field = Field()
opt = torch.optim.Adam(field.parameters(), lr=1e-3)
x0 = torch.linspace(0, 1, 50).unsqueeze(1)
start = torch.sin(torch.pi * x0)

for it in range(60):
    x = torch.rand(128, 1, requires_grad=True)
    t = torch.rand(128, 1, requires_grad=True)
    pde = residual(field, x, t).pow(2).mean()
    initial = (field(x0, torch.zeros_like(x0)) - start).pow(2).mean()
    loss = pde + 10 * initial
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(f"{it:4d} pde {pde.item():.4f} initial {initial.item():.4f}")
