"""A classifier of three spirals: module, optimizer, batches, accuracy."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spirals(points: int, arms: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points on the arms of a spiral, and the arm that each lies on."""
    places, labels = [], []
    for arm in range(arms):
        radius = torch.linspace(0.1, 1.0, points)
        angle = 4.0 * radius + 2 * math.pi * arm / arms + 0.15 * torch.randn(points)
        places.append(torch.stack([radius * torch.sin(angle), radius * torch.cos(angle)], dim=1))
        labels.append(torch.full((points,), arm))
    return torch.cat(places), torch.cat(labels)


def main() -> None:
    torch.manual_seed(0)
    inputs, labels = spirals(points=100, arms=3)
    model = nn.Sequential(
        nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=50, shuffle=True)

    for epoch in range(1, 21):
        total = 0.0
        for batch, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(batch), target)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)  # .item(): a number, without its graph
        if epoch % 4 == 0:
            print(f"epoch {epoch:2d}  loss {total / len(inputs):.4f}")

    model.eval()
    with torch.no_grad():
        right = (model(inputs).argmax(dim=1) == labels).float().mean()
    print(f"accuracy {right.item():.3f}")


if __name__ == "__main__":
    main()
