import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(75)


class GradReverseNet(nn.Module):
    """Domain adaptation: shared features, label head, domain head."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.label = nn.Linear(32, 2)
        self.domain = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, lam):
        f = self.features(x)
        rev = f.view_as(f)
        if rev.requires_grad:
            rev.register_hook(lambda g: -lam * g)
        return self.label(f), self.domain(rev)


def damp_embedding_grads(model, factor):
    """The feature extractor is to learn slower than the heads."""
    for p in model.features.parameters():
        p.register_hook(lambda g: g * factor)


def domains(n):
    y = torch.randint(0, 2, (2 * n,))
    d = torch.arange(2 * n) // n
    x = torch.randn(2 * n, 6)
    x[:, 0] += 2.0 * y
    x[:, 1] += 1.5 * d
    return x, y, d


model = GradReverseNet()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(150):
    x, y, d = domains(32)
    lam = min(1.0, step / 100) * 0.3
    damp_embedding_grads(model, factor=0.7)
    lab, dom = model(x, lam)
    loss = F.cross_entropy(lab, y) + F.cross_entropy(dom, d)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        gn = sum(p.grad.norm().item() for p in model.features.parameters())
        with torch.no_grad():
            xv, yv, _ = domains(200)
            acc = (model(xv, 0.0)[0].argmax(1) == yv).float().mean().item()
        print(f"step {step} loss {loss.item():.3f} acc {acc:.3f} feature grad {gn:.2e}")
