"""Few-shot sine regression with meta-learning of the initial weights."""
import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)


class SineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))

    def forward(self, x):
        return self.net(x)


class SineTask:
    def __init__(self):
        self.amp = torch.rand(1) * 4 + 1
        self.phase = torch.rand(1) * math.pi

    def sample(self, k):
        x = torch.rand(k, 1) * 10 - 5
        return x, self.amp * torch.sin(x + self.phase)


def adapt(model, x, y, steps=1, lr=0.01):
    learner = copy.deepcopy(model)
    inner = torch.optim.SGD(learner.parameters(), lr=lr)
    for _ in range(steps):
        inner.zero_grad()
        F.mse_loss(learner(x), y).backward()
        inner.step()
    return learner


meta_model = SineNet()
meta_opt = torch.optim.Adam(meta_model.parameters(), lr=1e-3)
before = [p.detach().clone() for p in meta_model.parameters()]

for it in range(60):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(4):
        task = SineTask()
        learner = adapt(meta_model, *task.sample(10))
        xq, yq = task.sample(10)
        query_loss = F.mse_loss(learner(xq), yq)
        query_loss.backward()
        meta_loss += query_loss.item()
    meta_opt.step()
    if it % 20 == 19:
        print(f"meta iter {it + 1}: query loss {meta_loss / 4:.4f}")

moved = sum((p - b).abs().sum().item() for p, b in zip(meta_model.parameters(), before))
print(f"total move of the initialisation: {moved:.5f}")
