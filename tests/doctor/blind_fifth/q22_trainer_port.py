import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LitRegressor(nn.Module):
    def __init__(self, hidden=32, lr=1e-2):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(5, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.logged = {}

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.optimizers.zero_grad()
        loss.backward()
        self.log("loss", loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class EarlyStopping:
    def __init__(self, patience=5):
        self.best, self.bad, self.patience = float("inf"), 0, patience

    def __call__(self, value):
        self.bad = 0 if value < self.best else self.bad + 1
        self.best = min(self.best, value)
        return self.bad >= self.patience


class Trainer:
    def __init__(self, max_epochs, callbacks=()):
        self.max_epochs, self.callbacks = max_epochs, callbacks

    def fit(self, model, loader):
        opt = model.optimizers = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            model.train()
            for i, batch in enumerate(loader):
                loss = model.training_step(batch, i)
                loss.backward()
                opt.step()
            mean = sum(model.logged["loss"][-len(loader) :]) / len(loader)
            print(f"epoch {epoch} loss {mean:.4f}")
            if any(cb(mean) for cb in self.callbacks):
                break


torch.manual_seed(0)
X = torch.randn(320, 5)
Y = X[:, 0] * X[:, 1] + X[:, 2]
Trainer(10, [EarlyStopping()]).fit(LitRegressor(), DataLoader(TensorDataset(X, Y), batch_size=32, shuffle=True))
