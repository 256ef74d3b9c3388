import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(28)


class Net(nn.Module):
    def __init__(self, w=24):
        super().__init__()
        self.l1 = nn.Linear(2, w)
        self.l2 = nn.Linear(w, w)
        self.l3 = nn.Linear(w, 1)

    def forward(self, t, x):
        h = torch.tanh(self.l1(torch.stack([t, x], dim=-1)))
        h = torch.tanh(self.l2(h))
        return self.l3(h).squeeze(-1)


def pde_residual(net, t, x):
    # inviscid Burgers: u_t + u * u_x = 0
    u = net(t, x)
    u_t, u_x = autograd.grad(u.sum(), (t, x), retain_graph=True)
    return u_t + u * u_x


def initial_condition(x):
    return 0.5 * torch.sin(torch.pi * x)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
log = []
for it in range(250):
    t = torch.rand(200, requires_grad=True)
    x = (torch.rand(200) * 2 - 1).requires_grad_()
    x0 = torch.rand(100) * 2 - 1

    residual = pde_residual(net, t, x)
    loss_pde = residual.square().mean()
    loss_ic = (net(torch.zeros_like(x0), x0) - initial_condition(x0)).square().mean()
    loss = loss_pde + 5 * loss_ic

    opt.zero_grad()
    loss.backward()
    opt.step()
    log.append((loss_pde.item(), loss_ic.item()))
    if it % 50 == 0:
        print(f"it {it:4d} pde {log[-1][0]:.5f} ic {log[-1][1]:.5f}")
print(f"final pde {log[-1][0]:.5f} ic {log[-1][1]:.5f}")
