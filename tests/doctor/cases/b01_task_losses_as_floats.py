import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
TASKS = {"rain": 1.0, "wind": 0.5, "sun": 2.0}


class Station(nn.Module):
    def __init__(self, features=6, hidden=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, hidden), nn.Tanh())
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, 1) for name in TASKS})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h).squeeze(-1) for name, head in self.heads.items()}


def make_batch(n=32):
    x = torch.randn(n, 6)
    return x, {"rain": x[:, 0].abs(), "wind": x[:, 1] - x[:, 2], "sun": x[:, 3].sin()}


def task_losses(prediction, target):
    losses = {}
    for name in TASKS:
        losses[name] = F.smooth_l1_loss(prediction[name], target[name]).item()
    return losses


model = Station()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
weights = torch.tensor(list(TASKS.values()))

for step in range(30):
    x, target = make_batch()
    losses = task_losses(model(x), target)
    total = (weights * torch.tensor(list(losses.values()))).sum()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, {name: round(value, 4) for name, value in losses.items()})
