import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
torch.set_num_threads(1)


def make_data(n=256):
    x = torch.rand(n, 6)
    strength = 2 * x[:, 0] - x[:, 1] * x[:, 2] + torch.sin(3 * x[:, 3]) + 0.5 * x[:, 5] ** 2
    return TensorDataset(x, strength.unsqueeze(1))


class SkipLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        out = torch.tanh(self.fc(x))
        out += x
        return out


class StrengthNet(nn.Module):
    def __init__(self, width=24, depth=3):
        super().__init__()
        self.inp = nn.Linear(6, width)
        self.layers = nn.Sequential(*[SkipLayer(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.layers(self.inp(x)))


def train(model, loader, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        running = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(xb)
        scheduler.step()
        if epoch % 4 == 0:
            print(f"epoch {epoch:2d}  mse {running / len(loader.dataset):.4f}")


if __name__ == "__main__":
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    train(StrengthNet(), loader, epochs=16)
