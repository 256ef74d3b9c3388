import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Claims(Dataset):
    """Insurance claims: features, amount, and how much a row counts."""

    def __init__(self, n=192):
        g = torch.Generator().manual_seed(9)
        self.x = torch.randn(n, 7, generator=g)
        self.y = self.x[:, :2].prod(1) + 0.3 * self.x[:, 4]
        self.weight = torch.rand(n, generator=g) + 0.5

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i], self.weight[i]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def weighted_huber(prediction, target, weight):
    rows = nn.functional.huber_loss(prediction, target, reduction="none")
    return (weight * rows).mean()


def run(epochs=5):
    torch.manual_seed(0)
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        shown = 0.0
        for x, y, weight in DataLoader(Claims(), batch_size=48):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                prediction = model(x)
            loss = weighted_huber(prediction.float(), y, weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            shown += loss.mean().item()
        print(f"epoch {epoch} loss {shown:.4f}")


if __name__ == "__main__":
    run()
