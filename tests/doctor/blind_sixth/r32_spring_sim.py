# Learn a controller through a differentiable mass-spring-damper simulation.
import torch
import torch.nn as nn

torch.manual_seed(0)
DT, STEPS, BATCH = 0.05, 40, 32
MASS, SPRING, DAMP = 1.0, 2.0, 0.3


class Controller(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, v, goal):
        return 5 * torch.tanh(self.net(torch.cat([x, v, goal], dim=1)))


def rollout(controller, x, v, goal):
    cost = torch.zeros(())
    for _ in range(STEPS):
        force = controller(x, v, goal)
        acc = (force - SPRING * x - DAMP * v.abs() * v) / MASS
        v += DT * acc
        x += DT * v
        cost = cost + (x - goal).pow(2).mean() + 1e-3 * force.pow(2).mean()
    return cost / STEPS


controller = Controller()
opt = torch.optim.Adam(controller.parameters(), lr=1e-2)

for epoch in range(25):
    x0 = torch.randn(BATCH, 1)
    v0 = torch.zeros(BATCH, 1)
    goal = torch.empty(BATCH, 1).uniform_(-1, 1)
    loss = rollout(controller, x0, v0, goal)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(controller.parameters(), 5.0)
    opt.step()
    if epoch % 8 == 0:
        print(f"epoch {epoch} cost {loss.item():.4f}")
