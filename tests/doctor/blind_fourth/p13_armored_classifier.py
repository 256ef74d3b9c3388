"""Adversarial training with projected gradient descent on two noisy spirals."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)
torch.set_num_threads(1)
EPS, ALPHA, ATTACK_STEPS = 0.15, 0.06, 4


def spirals(n):
    y = torch.randint(0, 2, (n,))
    r = torch.rand(n) * 2 + 0.3
    angle = 2.0 * r + y.float() * torch.pi
    x = torch.stack([r * angle.cos(), r * angle.sin()], dim=1)
    return x + 0.03 * torch.randn(n, 2), y


def pgd(model, x, y):
    delta = torch.empty_like(x).uniform_(-EPS, EPS).requires_grad_(True)
    for _ in range(ATTACK_STEPS):
        attack_loss = F.cross_entropy(model(x + delta), y)
        attack_loss.backward()
        with torch.no_grad():
            delta += ALPHA * delta.grad.sign()
            delta.clamp_(-EPS, EPS)
        delta.grad.zero_()
    return (x + delta).detach()


model = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[120], gamma=0.1)

for step in range(160):
    x, y = spirals(128)
    optimizer.zero_grad()
    x_adv = pgd(model, x, y)
    loss = F.cross_entropy(model(x_adv), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 40 == 0:
        print(step, f"adversarial loss {loss.item():.3f}")

x, y = spirals(500)
with torch.no_grad():
    print("clean accuracy", (model(x).argmax(1) == y).float().mean().item())
