# Adversarial training (PGD) of a small classifier. Prints loss and gradient norm per epoch.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
EPSILON, ALPHA, STEPS = 0.15, 0.06, 4

model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
data = torch.randn(5, 20, 10)
labels = data[..., :3].argmax(-1)
norms = []


def attack(x, y):
    """Projected gradient ascent on the input."""
    delta = torch.zeros_like(x).uniform_(-EPSILON, EPSILON).requires_grad_()
    for _ in range(STEPS):
        F.cross_entropy(model(x + delta), y).backward()
        with torch.no_grad():
            delta += ALPHA * delta.grad.sign()
            delta.clamp_(-EPSILON, EPSILON)
        delta.grad = None
    return (x + delta).detach()


for epoch in range(3):
    for x, y in zip(data, labels):
        adversarial = attack(x, y)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(adversarial), y)
        loss.backward()
        norms.append(nn.utils.get_total_norm([p.grad for p in model.parameters()]).item())
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f} gradient norm {norms[-1]:.4f}")
