import torch
import torch.nn as nn

torch.manual_seed(23)


class Field(nn.Module):
    def __init__(self, dim=2, hid=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, hid), nn.Tanh(), nn.Linear(hid, dim))
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        tt = torch.full_like(y[:, :1], t)
        return self.net(torch.cat([y, tt], 1)) + self.linear_part(y)

    def linear_part(self, y):
        # weak damping on top of what is learnt, stiff far away from the origin
        return -0.05 * y * y.norm(dim=1, keepdim=True)


def odeint_euler(field, y0, ts):
    y = y0.clone()
    path = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        dt = (t1 - t0).item()
        y += dt * field(t0.item(), y)
        path.append(y)
    return torch.stack(path)


@torch.no_grad()
def spiral(y0, ts):
    A = torch.tensor([[-0.1, 1.5], [-1.5, -0.1]])
    return torch.stack([y0 @ torch.matrix_exp(A * t) for t in ts])


ts = torch.linspace(0, 1.5, 16)
field = Field()
opt = torch.optim.Adam(field.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.StepLR(opt, 60, 0.5)

for it in range(120):
    y0 = torch.randn(32, 2)
    target = spiral(y0, ts)
    path = odeint_euler(field, y0, ts)
    loss = (path - target).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 30 == 0:
        print(f"iter {it} loss {loss.item():.4f} nfe {field.nfe}")
        field.nfe = 0
