import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, weight=None):
        super().__init__()
        self.gamma = gamma
        self.ce = nn.CrossEntropyLoss(weight=weight, reduction="none")

    def forward(self, logits, target):
        ce = self.ce(logits, target)
        pt = torch.exp(-ce)
        return (1 - pt) ** self.gamma * ce


class DefectNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        return self.fc(F.adaptive_max_pool2d(x, 1).flatten(1))


def plates(n, p=0.15):
    y = (torch.rand(n) < p).long()
    x = 0.3 * torch.randn(n, 1, 12, 12)
    for i in y.nonzero().flatten():
        r = torch.randint(0, 10, (1,)).item()
        x[i, 0, r : r + 2, :] += 1.0
    return x, y


def run(epochs=10):
    torch.manual_seed(33)
    x, y = plates(320)
    freq = torch.bincount(y, minlength=2).float()
    criterion = FocalLoss(weight=freq.sum() / (2 * freq))
    net = DefectNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    for epoch in range(epochs):
        total = 0.0
        for xb, yb in zip(x.split(40), y.split(40)):
            opt.zero_grad()
            loss = criterion(net(xb), yb)
            loss.backward()
            opt.step()
            total += loss.mean().item()
        with torch.no_grad():
            recall = (net(x).argmax(1)[y == 1] == 1).float().mean()
        print(f"epoch {epoch} loss {total / 8:.4f} recall {recall:.3f}")


if __name__ == "__main__":
    run()
