import torch
import torch.nn as nn
from engine import evaluate, train_one_epoch

torch.manual_seed(0)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def stripes(n):
    y = torch.randint(0, 2, (n,))
    img = 0.5 * torch.randn(n, 1, 8, 8)
    img[y == 0, :, ::2, :] += 1.0
    img[y == 1, :, :, ::2] += 1.0
    return img, y


def split(x, y, bs=32):
    return list(zip(x.split(bs), y.split(bs)))


train, val = split(*stripes(256)), split(*stripes(64))
model = ConvNet()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
best = 0.0
for epoch in range(4):
    loss = train_one_epoch(model, opt, train)
    acc = evaluate(model, val)
    best = max(best, acc)
    print(f"epoch {epoch} loss {loss:.3f} val acc {acc:.2f} best {best:.2f}")
