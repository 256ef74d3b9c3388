"""Neural ODE (RK4) fitted to trajectories of a damped oscillator; states are logged into a buffer."""
import torch
import torch.nn as nn

torch.manual_seed(0)
DT, STEPS = 0.15, 20


class VectorField(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, y):
        return self.net(y)


def rk4(f, y, dt):
    k1 = f(y)
    k2 = f(y + 0.5 * dt * k1)
    k3 = f(y + 0.5 * dt * k2)
    k4 = f(y + dt * k3)
    incr = k1 + k4
    incr += 2 * k2
    incr += 2 * k3
    return y + dt / 6 * incr


def integrate(f, y0, log=None):
    states = [y0]
    for i in range(STEPS):
        states.append(rk4(f, states[-1], DT))
        if log is not None:
            log[i] = states[-1].detach()
    return torch.stack(states)


A = torch.tensor([[0.0, 1.0], [-2.0, -0.3]])
with torch.no_grad():
    y0 = torch.randn(32, 2)
    truth = integrate(lambda y: y @ A.t(), y0)

field = VectorField()
opt = torch.optim.Adam(field.parameters(), lr=1e-2)
buffer = torch.zeros(STEPS, 32, 2)
for it in range(50):
    pred = integrate(field, y0, log=buffer)
    loss = (pred - truth).abs().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(field.parameters(), 1.0)
    opt.step()
    if it % 15 == 0:
        print(f"{it:3d} loss {loss.item():.4f} largest state {buffer.abs().max().item():.2f}")
