import torch
from torch import nn
import torch.nn.functional as F


class IncrementalNet(nn.Module):
    def __init__(self, d=16, width=32, classes=2):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(d, width), nn.ReLU())
        self.classifier = nn.Linear(width, classes)

    def grow(self, extra):
        old = self.classifier
        new = nn.Linear(old.in_features, old.out_features + extra)
        with torch.no_grad():
            new.weight[: old.out_features].copy_(old.weight)
            new.bias[: old.out_features].copy_(old.bias)
        self.classifier = new

    def forward(self, x):
        return self.classifier(self.features(x))


class Learner:
    def __init__(self, net, lr=0.01):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)

    def fit(self, x, y, steps=60):
        for _ in range(steps):
            rows = torch.randint(0, len(x), (32,))
            loss = F.cross_entropy(self.net(x[rows]), y[rows])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


def task(centers, classes, n=150):
    y = classes[torch.randint(0, len(classes), (n,))]
    return centers[y] + 1.2 * torch.randn(n, centers.size(1)), y


def main():
    torch.manual_seed(27)
    centers = torch.randn(6, 16)
    learner = Learner(IncrementalNet())
    seen = torch.arange(2)
    for t in range(3):
        if t:
            learner.net.grow(2)
            seen = torch.arange(2 * (t + 1))
        x, y = task(centers, seen)
        loss = learner.fit(x, y)
        acc = (learner.net(x).argmax(1) == y).float().mean()
        print(f"task {t}: classes {len(seen)} loss {loss:.3f} acc {acc:.2f}")


main()
