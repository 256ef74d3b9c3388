"""Image classifier with dropout and batch norm, validated every few iterations."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def dataset(n):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 10, 10) * 2.0
    for i, c in enumerate(y.tolist()):
        x[i, 0, (c // 2) * 5:(c // 2) * 5 + 5, (c % 2) * 5:(c % 2) * 5 + 5] += 0.8
    return TensorDataset(x, y)


model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.4), nn.Linear(200, 4),
)
train_loader = DataLoader(dataset(320), batch_size=32, shuffle=True)
val_loader = DataLoader(dataset(96), batch_size=48)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def validate():
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for x, y in val_loader:
            correct += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return correct / total


model.train()
it = 0
for epoch in range(6):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        it += 1
        if it % 5 == 0:
            print(f"iter {it} train loss {loss.item():.4f} val acc {validate():.3f}")
