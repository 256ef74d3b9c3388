"""Linear probing: freeze everything but the classification layer of a 'pretrained' network."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallResNet(nn.Module):
    def __init__(self, channels=8, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.conv2(F.relu(self.conv1(x))))
        return self.head(self.pool(x).flatten(1))


def load_pretrained():
    torch.manual_seed(123)
    return SmallResNet()


def freeze_backbone(model):
    for name, param in model.named_parameters():
        if not name.startswith("fc"):
            param.requires_grad = False


def batches(n, bs=16):
    g = torch.Generator().manual_seed(0)
    for _ in range(n):
        y = torch.randint(0, 5, (bs,), generator=g)
        x = 0.5 * torch.randn(bs, 3, 8, 8, generator=g) + (y.float() / 5).view(-1, 1, 1, 1)
        yield x, y


model = load_pretrained()
freeze_backbone(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for i, (x, y) in enumerate(batches(30)):
    optimizer.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(f"[{i}] loss={loss.item():.4f}")
