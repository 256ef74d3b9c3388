import torch
import torch.nn as nn
import torch.nn.functional as F


class FeatureGate(nn.Module):
    """Decides per sample which features are passed on."""

    def __init__(self, d, sharpness=10.0):
        super().__init__()
        self.score = nn.Linear(d, d)
        self.sharpness = sharpness

    def forward(self, x):
        p = torch.sigmoid(self.sharpness * self.score(x))
        keep = (p > 0.5).float()
        return x * keep, keep


class GatedClassifier(nn.Module):
    def __init__(self, d=10, k=3):
        super().__init__()
        self.gate = FeatureGate(d)
        self.net = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, k))

    def forward(self, x):
        x, keep = self.gate(x)
        return self.net(x), keep.mean()


def objective(logits, used, y, price=0.3):
    return F.cross_entropy(logits, y) + price * used


def sparse_problem(n, d=10):
    x = torch.randn(n, d)
    return x, x[:, :3].argmax(1)


def train(steps=150):
    torch.manual_seed(101)
    model = GatedClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        x, y = sparse_problem(64)
        logits, used = model(x)
        loss = objective(logits, used, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            acc = (logits.argmax(1) == y).float().mean().item()
            print(f"{step + 1}: loss {loss.item():.3f} acc {acc:.2f} features used {used.item():.2f}")


train()
