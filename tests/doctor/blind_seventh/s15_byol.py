"""BYOL-style self-supervision: online network + predictor against a slow target network."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def encoder():
    return nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))


class BYOL(nn.Module):
    def __init__(self, tau=0.98):
        super().__init__()
        self.online = encoder()
        self.predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.mul_(self.tau).add_((1 - self.tau) * o)

    def half_loss(self, a, b):
        p = F.normalize(self.predictor(self.online(a)), dim=1)
        z = F.normalize(self.target(b), dim=1)
        return 2 - 2 * (p * z.detach()).sum(1).mean()

    def forward(self, a, b):
        return self.half_loss(a, b) + self.half_loss(b, a)


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.05 * torch.randn_like(x)


def main():
    torch.manual_seed(4)
    centers = 2 * torch.randn(5, 16)
    model = BYOL()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    for step in range(80):
        x = centers[torch.randint(0, 5, (64,))] + 0.3 * torch.randn(64, 16)
        loss = model(augment(x), augment(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.update_target()
        if step % 20 == 0:
            print(f"{step}: {loss.item():.4f}")
    return model


if __name__ == "__main__":
    main()
