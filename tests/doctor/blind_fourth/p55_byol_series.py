import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(55)
torch.set_num_threads(1)


def mlp(inp, hidden, out):
    return nn.Sequential(nn.Linear(inp, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out))


class Byol(nn.Module):
    def __init__(self, inp=32, dim=12, momentum=0.98):
        super().__init__()
        self.online = mlp(inp, 48, dim)
        self.predictor = mlp(dim, 24, dim)
        self.target = copy.deepcopy(self.online)
        self.target.requires_grad_(False)
        self.momentum = momentum

    def loss(self, a, b):
        return self.one_way(a, b) + self.one_way(b, a)

    def one_way(self, a, b):
        guess = F.normalize(self.predictor(self.online(a)), dim=1)
        with torch.no_grad():
            goal = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (guess * goal).sum(dim=1).mean()

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.lerp_(fast, 1 - self.momentum)


def augment(series):
    gain = 0.8 + 0.4 * torch.rand(len(series), 1)
    return series * gain + 0.05 * torch.randn_like(series)


t = torch.linspace(0, 6.28, 32)
model = Byol()
optimizer = torch.optim.AdamW(
    [*model.online.parameters(), *model.predictor.parameters()], lr=3e-3, weight_decay=1e-4
)
for step in range(150):
    freq = torch.randint(1, 5, (64, 1)).float()
    series = torch.sin(freq * t + 0.5 * torch.rand(64, 1))
    loss = model.loss(augment(series), augment(series))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.follow()
    if step % 30 == 0:
        spread = F.normalize(model.online(series), dim=1).std(dim=0).mean().item()
        print(step, f"loss {loss.item():.4f} spread {spread:.3f}")
