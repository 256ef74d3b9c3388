import torch
import torch.nn as nn
import torch.nn.functional as F

from surgery import project_conflicts, write_gradients

torch.manual_seed(0)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
        self.depth, self.normal = nn.Linear(24, 1), nn.Linear(24, 2)

    def forward(self, x):
        h = self.body(x)
        return self.depth(h).squeeze(-1), self.normal(h)


def task_losses(model, x):
    depth, normal = model(x)
    return [
        F.mse_loss(depth, x[:, 0] * x[:, 1]),
        F.l1_loss(normal, torch.stack([x[:, 0], -x[:, 1]], dim=1)),
        0.01 * (depth.unsqueeze(-1) - normal).pow(2).mean(),
    ]


model = Shared()
params = [p for p in model.parameters()]
optimizer = torch.optim.SGD(params, lr=0.1)
conflicts = 0
for step in range(20):
    losses = task_losses(model, torch.randn(32, 6))
    gradients = []
    for i, loss in enumerate(losses):
        last = i == len(losses) - 1
        gradients.append(
            torch.autograd.grad(loss, params, retain_graph=not last, allow_unused=True)
        )
    merged, found = project_conflicts(gradients, params)
    conflicts += found
    write_gradients(params, merged)
    optimizer.step()
    if step % 6 == 0:
        print(step, [round(loss.item(), 4) for loss in losses])
print("conflicts", conflicts)
