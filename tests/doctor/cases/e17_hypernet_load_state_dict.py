"""A hypernetwork writes the weights of a small policy network from a task description."""
import torch
from torch import nn

torch.manual_seed(13)


class TargetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class HyperNet(nn.Module):
    def __init__(self, target, task_width=4):
        super().__init__()
        self.shapes = {name: p.shape for name, p in target.named_parameters()}
        total = sum(shape.numel() for shape in self.shapes.values())
        self.body = nn.Sequential(nn.Linear(task_width, 32), nn.ReLU(), nn.Linear(32, total))

    def forward(self, task):
        flat = 0.3 * self.body(task)
        pieces = flat.split([shape.numel() for shape in self.shapes.values()])
        return {name: piece.view(shape) for (name, shape), piece in zip(self.shapes.items(), pieces)}


def rollout_loss(target, weights, task, batch=20):
    target.load_state_dict(weights)
    x = torch.randn(batch, 3)
    wanted = (x @ task[:3, None]).tanh()
    return nn.functional.mse_loss(target(x), wanted)


target = TargetNet().requires_grad_(False)
hyper = HyperNet(target)
optimizer = torch.optim.Adam(hyper.parameters(), lr=1e-3)
for step in range(6):
    task = torch.randn(4)
    loss = rollout_loss(target, hyper(task), task)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}")
