import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def leaf_images(n=240):
    labels = torch.randint(0, 3, (n,))
    imgs = torch.randn(n, 1, 8, 8) * 0.8 + 2.0
    for k in range(3):
        imgs[labels == k, :, 2 * k:2 * k + 3] += 0.8
    return TensorDataset(imgs, labels)


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Dropout(0.4), nn.Linear(64, 3),
    )


def validate(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(3)
    train_set, val_set = random_split(leaf_images(), [180, 60])
    train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=60)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    model.train()
    for epoch in range(6):
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f} val acc {validate(model, val_loader):.3f}")


main()
