"""Sharpness-aware minimization (SAM) written around an ordinary optimizer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(53)
torch.set_num_threads(1)


class SAM:
    def __init__(self, params, base, rho=0.05):
        self.params = list(params)
        self.base = base
        self.rho = rho
        self.moves = []

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        scale = self.rho / (norm + 1e-12)
        self.moves = []
        for p in self.params:
            move = p.grad * scale
            p.add_(move)
            self.moves.append(move)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, move in zip(self.params, self.moves):
            p.sub_(move)
        self.base.step()
        self.base.zero_grad()


def checkers(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, ((x[:, 0].floor() + x[:, 1].floor()) % 2).long()


model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
sam = SAM(model.parameters(), torch.optim.Adam(model.parameters(), lr=5e-3))
x, y = checkers(400)

for epoch in range(50):
    for idx in torch.randperm(400).split(100):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        sam.climb()
        F.cross_entropy(model(x[idx]), y[idx]).backward()
        sam.descend()
    if epoch % 10 == 9:
        acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} accuracy {acc:.2f}")
