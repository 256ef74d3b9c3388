import torch
import torch.nn as nn
import torch.nn.functional as F


class SamTrainer:
    def __init__(self, model, lr=0.1, rho=0.05):
        self.model = model
        self.rho = rho
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.model.parameters()]).norm()
        saved = []
        for p in self.model.parameters():
            saved.append(p.clone())
            p.add_(p.grad, alpha=self.rho / (norm.item() + 1e-12))
        return saved

    @torch.no_grad()
    def descend(self, saved):
        for p, s in zip(self.model.parameters(), saved):
            p.copy_(s)

    def step(self, x, y):
        self.opt.zero_grad()
        first = F.cross_entropy(self.model(x), y)
        first.backward()
        saved = self.climb()

        self.opt.zero_grad()
        F.cross_entropy(self.model(x), y).backward()
        self.descend(saved)
        self.opt.step()
        return first.item()


def spirals(n):
    k = torch.randint(0, 2, (n,))
    r = torch.rand(n) * 2.5 + 0.3
    a = 2 * r + torch.pi * k + 0.1 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), k


torch.manual_seed(93)
model = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
trainer = SamTrainer(model)
for it in range(300):
    loss = trainer.step(*spirals(64))
    if it % 75 == 0:
        print(f"it {it} loss {loss:.4f}")
with torch.no_grad():
    x, y = spirals(500)
    print(f"accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")
