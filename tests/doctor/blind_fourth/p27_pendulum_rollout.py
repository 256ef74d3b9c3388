"""Learn the dynamics of a damped pendulum by unrolling a network through time."""
import torch
from torch import nn

torch.manual_seed(8)
torch.set_num_threads(1)
STEPS, DT = 15, 0.1


def simulate(start):
    states = [start]
    for _ in range(STEPS):
        angle, speed = states[-1].unbind(-1)
        accel = -torch.sin(angle) - 0.1 * speed
        states.append(torch.stack([angle + DT * speed, speed + DT * accel], dim=-1))
    return torch.stack(states, dim=1)


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, state):
        return self.net(state)


def rollout(field, start):
    path = torch.zeros(start.size(0), STEPS + 1, 2)
    path[:, 0] = start
    for t in range(STEPS):
        path[:, t + 1] = path[:, t] + DT * field(path[:, t])
    return path


field = Dynamics()
optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
start = torch.randn(64, 2)
truth = simulate(start)

for it in range(100):
    optimizer.zero_grad()
    path = rollout(field, start)
    loss = (path - truth).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(field.parameters(), 1.0)
    optimizer.step()
    if it % 25 == 0:
        print(f"{it:3d} {loss.item():.5f}")

with torch.no_grad():
    test = torch.randn(32, 2)
    print("held out", (rollout(field, test) - simulate(test)).pow(2).mean().item())
