import torch
import torch.nn as nn
from torch.optim import Adam


class Dynamics(nn.Module):
    def __init__(self, n_state=3, n_ctrl=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_state + n_ctrl, 24), nn.Tanh(), nn.Linear(24, n_state))

    def forward(self, s, u):
        return s + 0.3 * u + 0.05 * self.net(torch.cat([s, u], -1))


class Planner:
    """Shooting planner: optimises an action sequence by gradient descent."""

    def __init__(self, model, horizon=6, inner=4, lr=0.2):
        self.model = model
        self.horizon = horizon
        self.inner = inner
        self.lr = lr
        self.plan = torch.zeros(horizon, 3)

    def cost(self, state, plan, goal):
        total = 0.0
        for u in plan:
            state = self.model(state, u)
            total = total + (state - goal).pow(2).sum() + 0.01 * u.pow(2).sum()
        return total

    def act(self, state, goal):
        plan = torch.cat([self.plan[1:], self.plan[-1:]]).requires_grad_(True)
        opt = Adam([plan], lr=self.lr)
        for _ in range(self.inner):
            opt.zero_grad()
            c = self.cost(state, plan, goal)
            c.backward()
            opt.step()
        self.plan = plan.detach()
        return plan[0], c.item()


def episode(planner, goal, length=8):
    state = torch.zeros(3)
    costs = []
    for _ in range(length):
        u, c = planner.act(state, goal)
        state = planner.model(state, u)
        costs.append(c)
    return state, costs


if __name__ == "__main__":
    torch.manual_seed(12)
    model = Dynamics()
    for p in model.parameters():
        p.requires_grad_(False)
    goal = torch.tensor([0.3, -0.2, 0.1])
    final, costs = episode(Planner(model), goal)
    print("costs", [round(c, 3) for c in costs])
    print("distance", round(float((final - goal).norm()), 4))
