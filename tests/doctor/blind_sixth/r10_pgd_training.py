import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--eps", type=float, default=0.3)
parser.add_argument("--alpha", type=float, default=0.1)
parser.add_argument("--attack-steps", type=int, default=5)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(0)


def two_moons(n):
    t = torch.rand(n) * 3.14159
    y = torch.randint(0, 2, (n,))
    x = torch.stack([torch.cos(t) * (1 - 2 * y) + y, torch.sin(t) * (1 - 2 * y) + 0.5 * y], 1)
    return x + 0.1 * torch.randn(n, 2), y


def pgd(model, x, y):
    """Projected gradient ascent inside the eps ball."""
    x_adv = x + torch.empty_like(x).uniform_(-args.eps, args.eps)
    x_adv.requires_grad_(True)
    for _ in range(args.attack_steps):
        loss = F.cross_entropy(model(x_adv), y)
        loss.backward()
        x_adv = x_adv + args.alpha * x_adv.grad.sign()
        x_adv = torch.max(torch.min(x_adv, x + args.eps), x - args.eps)
    return x_adv.detach()


model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
X, Y = two_moons(256)

for epoch in range(args.epochs):
    for xb, yb in zip(X.split(64), Y.split(64)):
        model.eval()
        adv = pgd(model, xb, yb)
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(adv), yb)
        loss.backward()
        opt.step()
    acc = (model(X).argmax(1) == Y).float().mean().item()
    print(f"epoch {epoch} robust loss {loss.item():.3f} clean acc {acc:.2f}")
