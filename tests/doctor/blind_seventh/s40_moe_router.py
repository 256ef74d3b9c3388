"""Mixture of experts with top-1 routing on a piecewise function."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, d, hidden=4):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, d))

    def forward(self, x):
        return self.f(x)


class SwitchLayer(nn.Module):
    def __init__(self, d=8, n_experts=4):
        super().__init__()
        self.router = nn.Linear(d, n_experts)
        self.experts = nn.ModuleList(Expert(d) for _ in range(n_experts))

    def forward(self, x):
        probs = F.softmax(self.router(x), dim=-1)
        choice = probs.argmax(dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = choice == i
            if rows.any():
                out[rows] = expert(x[rows])
        return out


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(2, 8)
        self.moe = SwitchLayer()
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        return self.out(h + self.moe(h)).squeeze(-1)


def target(x):
    return torch.where(x[:, 0] > 0, torch.sin(3 * x[:, 1]), x[:, 1] ** 2 - 1)


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(250):
    x = 2 * torch.rand(128, 2) - 1
    loss = F.mse_loss(model(x), target(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"{step}: {loss.item():.4f}")
