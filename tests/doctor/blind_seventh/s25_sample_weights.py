"""Regression with a weight per sample (importance weighting for covariate shift)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def density_ratio(x):
    """target N(1,1) over source N(0,1)"""
    return torch.exp(x[:, 0] - 0.5)


def build_loader(n=300):
    x = torch.randn(n, 4)
    y = torch.sin(2 * x[:, :1]) + 0.2 * x[:, 1:2]
    return DataLoader(TensorDataset(x, y, density_ratio(x)), batch_size=50, shuffle=True)


class WeightedTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.criterion = nn.SmoothL1Loss(reduction="none")
        self.opt = torch.optim.RMSprop(model.parameters(), lr=lr)

    def step(self, x, y, w):
        pred = self.model(x)
        per_sample = self.criterion(pred, y).squeeze(1)
        loss = per_sample * w / w.sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.sum().item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            losses = [self.step(*batch) for batch in loader]
            print(f"epoch {epoch} weighted loss {sum(losses) / len(losses):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    WeightedTrainer(net, lr=2e-3).fit(build_loader(), epochs=6)
