"""Neural ODE with a fixed-step Euler solver, fitted to a damped oscillator trajectory."""
import torch
import torch.nn as nn


class VectorField(nn.Module):
    def __init__(self, dim=2, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.Tanh(), nn.Linear(width, dim))

    def forward(self, y):
        return self.net(y)


def true_solution(n_steps, dt):
    a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    y = torch.tensor([2.0, 0.0])
    out = [y]
    for _ in range(n_steps):
        k1 = y @ a.t()
        k2 = (y + dt * k1) @ a.t()
        y = y + dt * (k1 + k2) / 2
        out.append(y)
    return torch.stack(out)


def odeint_euler(func, y0, n_steps, dt):
    traj = torch.zeros(n_steps + 1, *y0.shape)
    traj[0] = y0
    for i in range(n_steps):
        traj[i + 1] = traj[i] + dt * func(traj[i])
    return traj


def fit(n_iters=40, horizon=8, dt=0.05, batch=16):
    torch.manual_seed(0)
    data = true_solution(200, dt)
    func = VectorField()
    opt = torch.optim.Adam(func.parameters(), lr=1e-2)
    for it in range(n_iters):
        starts = torch.randint(0, 200 - horizon, (batch,))
        y0 = data[starts]
        target = torch.stack([data[starts + k] for k in range(horizon + 1)])
        pred = odeint_euler(func, y0, horizon, dt)
        loss = (pred - target).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 0:
            print(f"iteration {it}: {loss.item():.5f}")
    return func


if __name__ == "__main__":
    fit()
