import torch
import torch.nn as nn
import torch.nn.functional as F


class FastAttack:
    """One signed gradient step from a random start."""

    def __init__(self, epsilon=0.3, alpha=0.4):
        self.epsilon, self.alpha = epsilon, alpha

    def __call__(self, model, x, y):
        delta = torch.randn_like(x, requires_grad=True).clamp(-self.epsilon, self.epsilon)
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        with torch.no_grad():
            if delta.grad is not None:
                delta += self.alpha * delta.grad.sign()
                delta.clamp_(-self.epsilon, self.epsilon)
        return (x + delta).detach()


def moons(n):
    angle = torch.rand(n) * torch.pi
    y = torch.arange(n) % 2
    x = torch.stack([angle.cos() + y, (1 - 2 * y) * angle.sin() + 0.5 * y], dim=1)
    return x + 0.1 * torch.randn(n, 2), y


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
attack = FastAttack()
for epoch in range(30):
    x, y = moons(64)
    attacked = attack(model, x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(attacked), y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        print(f"{epoch} loss {loss.item():.3f} attacked accuracy {accuracy(model, attacked, y):.2f}")
