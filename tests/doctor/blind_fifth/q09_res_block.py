import torch
import torch.nn as nn

torch.manual_seed(2)


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv1d(ch, ch, 3, padding=1)
        self.bn1 = nn.BatchNorm1d(ch)
        self.conv2 = nn.Conv1d(ch, ch, 3, padding=1)
        self.bn2 = nn.BatchNorm1d(ch)
        self.relu = nn.ReLU()

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out += residual
        return out


class ECGNet(nn.Module):
    def __init__(self, n_classes=3, ch=16, depth=2):
        super().__init__()
        self.stem = nn.Conv1d(1, ch, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(*[ResBlock(ch) for _ in range(depth)])
        self.head = nn.Linear(ch, n_classes)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(x.mean(-1))


def synth(n, length=64):
    t = torch.linspace(0, 1, length)
    y = torch.randint(0, 3, (n,))
    freq = torch.tensor([3.0, 6.0, 12.0])[y]
    sig = torch.sin(2 * torch.pi * freq[:, None] * t + torch.rand(n, 1) * 6.28)
    return (sig + 0.2 * torch.randn(n, length))[:, None], y


X, Y = synth(192)
model = ECGNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(10):
    correct = 0
    running = 0.0
    for xb, yb in zip(X.split(32), Y.split(32)):
        optimizer.zero_grad()
        logits = model(xb)
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
        correct += (logits.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {running / len(Y):.4f} acc {correct / len(Y):.3f}")
