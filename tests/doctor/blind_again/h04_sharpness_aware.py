import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM:
    def __init__(self, params, base, rho=0.05):
        self.params = list(params)
        self.base = base
        self.rho = rho

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.offsets = [p.grad * (self.rho / norm) for p in self.params]
        for p, e in zip(self.params, self.offsets):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.offsets):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


def checker(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, ((x.floor().sum(1) % 2) == 0).long()


def main():
    torch.manual_seed(13)
    net = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    sam = SAM(net.parameters(), torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))
    losses = []
    for step in range(250):
        x, y = checker(96)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        sam.climb()
        F.cross_entropy(net(x), y).backward()
        sam.descend()
        losses.append(loss.item())
    print(f"loss {sum(losses[:10]) / 10:.3f} -> {sum(losses[-10:]) / 10:.3f}")


if __name__ == "__main__":
    main()
