"""Adversarial training with PGD examples."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(28)


def pgd_attack(model, x, y, eps=0.1, alpha=0.03, steps=4):
    adv = (x + torch.empty_like(x).uniform_(-eps, eps)).clamp(0, 1)
    adv.requires_grad_(True)
    for _ in range(steps):
        loss = F.cross_entropy(model(adv), y)
        model.zero_grad()
        loss.backward()
        adv = adv + alpha * adv.grad.sign()
        adv = torch.min(torch.max(adv, x - eps), x + eps).clamp(0, 1)
    return adv.detach()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    x = torch.rand(256, 20)
    y = (x[:, :10].sum(1) > x[:, 10:].sum(1)).long()
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(6):
        for idx in torch.randperm(len(x)).split(64):
            x_adv = pgd_attack(model, x[idx], y[idx])
            loss = F.cross_entropy(model(x_adv), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        x_adv = pgd_attack(model, x, y)
        print(f"epoch {epoch} clean {accuracy(model, x, y):.3f} robust {accuracy(model, x_adv, y):.3f}")


if __name__ == "__main__":
    main()
