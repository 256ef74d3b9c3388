import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def moving_average(signal: torch.Tensor, width: int) -> torch.Tensor:
    """Box filter over time, (batch, channels, time)."""
    kernel = torch.ones(signal.shape[1], 1, width) / width
    return nn.functional.conv1d(signal, kernel, padding=width // 2, groups=signal.shape[1])


class BeatClassifier(nn.Module):
    def __init__(self, channels=8, width=5):
        super().__init__()
        self.width = width
        self.features = nn.Sequential(nn.Conv1d(1, channels, 7, padding=3), nn.ReLU())
        self.head = nn.Linear(channels, 2)

    def forward(self, x):
        h = moving_average(self.features(x), self.width)
        return self.head(h.amax(-1))


def synthetic_ecg(n, rng):
    time = np.linspace(0, 4, 64)
    rate = np.where(rng.random(n) < 0.5, 1.0, 2.0)
    waves = np.sin(2 * np.pi * rate[:, None] * time) ** 9 + 0.1 * rng.standard_normal((n, 64))
    return torch.tensor(waves[:, None], dtype=torch.float32), torch.tensor(rate > 1.5).long()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-2)
    args = parser.parse_args()
    torch.manual_seed(1)
    data = TensorDataset(*synthetic_ecg(128, np.random.default_rng(0)))
    model = BeatClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = 0.0
        for x, y in DataLoader(data, batch_size=32):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 4:.4f}")


if __name__ == "__main__":
    main()
