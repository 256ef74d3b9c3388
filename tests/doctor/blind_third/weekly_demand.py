import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class DemandForecaster(nn.Module):
    def __init__(self, window=14, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x.unsqueeze(-1))
        return self.fc(out[:, -1]).squeeze(-1)


def windows(series, size):
    x = series.unfold(0, size, 1)[:-1]
    return x, series[size:]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=0.01)
    return p.parse_args([])


def main():
    args = parse_args()
    torch.manual_seed(2024)
    days = torch.arange(270.0)
    demand = torch.sin(2 * torch.pi * days / 7) + 0.3 * torch.cos(2 * torch.pi * days / 30)
    demand += 0.1 * torch.randn(270)
    x, y = windows(demand, 14)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = DemandForecaster()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loss_fn = nn.MSELoss()
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        total = 0.0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(xb)
        print(f"epoch {epoch} mse {total / len(x):.4f}")


if __name__ == "__main__":
    main()
