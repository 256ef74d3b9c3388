import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Stations(Dataset):
    """Sensor windows with three things to predict from each."""

    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        self.windows = torch.randn(n, 4, 12, generator=gen)

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        w = self.windows[i]
        return w, {
            "temperature": w[0, -1] + 0.5 * w[1, -1],
            "rain": (w[2].sum() > 0).float(),
            "wind": (w[3, -1] > 0).long() + (w[3, -2] > 0).long(),
        }


class Forecaster(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.encoder = nn.GRU(4, width, batch_first=True)
        self.heads = nn.ModuleDict(
            {
                "temperature": nn.Linear(width, 1),
                "rain": nn.Linear(width, 1),
                "wind": nn.Linear(width, 3),
            }
        )

    def forward(self, x):
        _, h = self.encoder(x.transpose(1, 2))
        return {name: head(h[-1]) for name, head in self.heads.items()}


def compute_losses(pred, target):
    return {
        "temperature": F.mse_loss(pred["temperature"].squeeze(-1), target["temperature"]),
        "rain": F.binary_cross_entropy_with_logits(pred["rain"].squeeze(-1), target["rain"]),
        "wind": F.cross_entropy(pred["wind"], target["wind"]),
    }


def train_one_epoch(model, loader, optimizer, weights):
    sums = dict.fromkeys(weights, 0.0)
    for x, target in loader:
        losses = compute_losses(model(x), target)
        optimizer.zero_grad()
        sum(weights[name] * loss for name, loss in losses.items()).backward()
        for name, loss in losses.items():
            sums[name] += loss.item()
        optimizer.step()
    return {name: round(value / len(loader), 4) for name, value in sums.items()}


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Forecaster()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    loader = DataLoader(Stations(64, seed=1), batch_size=16, num_workers=0)
    weights = {"temperature": 1.0, "rain": 0.5, "wind": 1.0}
    for epoch in range(3):
        print(epoch, train_one_epoch(model, loader, optimizer, weights))
