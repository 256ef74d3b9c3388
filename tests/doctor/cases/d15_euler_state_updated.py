import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Dynamics(nn.Module):
    def __init__(self, dim=2, width=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(dim, width), nn.Tanh(), nn.Linear(width, dim))

    def forward(self, state):
        return self.f(state)


def rollout(dynamics, state, steps, dt):
    state = state.clone()
    for _ in range(steps):
        state += dt * dynamics(state)
    return state


def spiral(points, steps, dt):
    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    for _ in range(steps):
        points = points + dt * (points ** 3) @ A.t()
    return points


dynamics = Dynamics()
optimizer = torch.optim.Adam(dynamics.parameters(), lr=5e-3)
for epoch in range(5):
    start = torch.rand(32, 2) * 2 - 1
    target = spiral(start, steps=4, dt=0.05)
    end = rollout(dynamics, start, steps=4, dt=0.05)
    loss = F.mse_loss(end, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, "%.6f" % loss.item())
