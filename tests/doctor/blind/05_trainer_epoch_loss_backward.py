import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=256, seed=1):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 3, generator=g) * 2 - 1
    y = (x[:, :1] * 2 - x[:, 1:2] ** 2 + 0.5 * torch.sin(3 * x[:, 2:])) + 0.05 * torch.randn(n, 1, generator=g)
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, train_set, val_set, lr=0.01, batch_size=32):
        self.model = model
        self.loader = DataLoader(train_set, batch_size=batch_size, shuffle=True,
                                 generator=torch.Generator().manual_seed(0))
        self.val = DataLoader(val_set, batch_size=128)
        self.crit = nn.MSELoss()
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.best = float("inf")

    def run_epoch(self):
        self.model.train()
        total_loss = 0.0
        for xb, yb in self.loader:
            pred = self.model(xb)
            loss = self.crit(pred, yb)
            total_loss += loss
            self.opt.zero_grad()
            total_loss.backward()
            self.opt.step()
        return float(total_loss) / len(self.loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        losses = [self.crit(self.model(x), y).item() for x, y in self.val]
        return sum(losses) / len(losses)

    def fit(self, epochs):
        for ep in range(epochs):
            tr = self.run_epoch()
            va = self.validate()
            self.best = min(self.best, va)
            print(f"epoch {ep:2d} train {tr:.4f} val {va:.4f} best {self.best:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    Trainer(net, make_data(seed=1), make_data(128, seed=2)).fit(5)
