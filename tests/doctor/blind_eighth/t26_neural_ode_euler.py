"""Neural ODE: fit a spiral with a fixed-step Euler integrator."""
import torch
import torch.nn as nn

torch.manual_seed(25)


class VectorField(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, t, y):
        return self.net(y ** 3)


def euler(func, y0, ts):
    y = y0.clone()
    out = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        y += (t1 - t0) * func(t0, y)
        out.append(y.clone())
    return torch.stack(out)


A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0, 1.5, 31)
with torch.no_grad():
    truth = euler(lambda t, y: (y ** 3) @ A, torch.tensor([[1.2, 0.0]]), ts)

field = VectorField()
optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)

for it in range(40):
    start = torch.randint(0, 20, (1,)).item()
    window = ts[start:start + 10]
    pred = euler(field, truth[start], window)
    loss = (pred - truth[start:start + 10]).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it} loss {loss.item():.4f}")
