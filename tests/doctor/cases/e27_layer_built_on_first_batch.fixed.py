import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    def __init__(self, count=40, bins=33):
        generator = torch.Generator().manual_seed(5)
        self.x = torch.rand(count, bins, generator=generator)
        self.y = self.x[:, : bins // 2].mean(1) - self.x[:, bins // 2 :].mean(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Regressor(nn.Module):
    """The number of bins depends on the instrument, so the first layer waits for the data."""

    def __init__(self, width=24):
        super().__init__()
        self.width = width
        self.first = None
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        if self.first is None:
            self.first = nn.Linear(x.size(-1), self.width)
        return self.rest(self.first(x)).squeeze(-1)


def evaluate(model, data):
    with torch.no_grad():
        return nn.functional.mse_loss(model(data.x), data.y).item()


def main():
    torch.manual_seed(0)
    data = Spectra()
    model = Regressor()
    evaluate(model, data)  # builds the first layer
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for x, y in DataLoader(data, batch_size=10, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, round(evaluate(model, data), 5))


if __name__ == "__main__":
    main()
