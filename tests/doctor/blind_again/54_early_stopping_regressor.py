import torch
import torch.nn as nn


class Regressor(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


class Evaluator:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.best = float("inf")

    def __call__(self, model):
        torch.set_grad_enabled(False)
        model.eval()
        err = (model(self.x) - self.y).pow(2).mean().item()
        improved = err < self.best
        self.best = min(self.best, err)
        return err, improved


def train_epoch(model, opt, x, y, batch=50):
    model.train()
    for rows in torch.randperm(len(x)).split(batch):
        loss = (model(x[rows]) - y[rows]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def fit(epochs=12, patience=3):
    torch.manual_seed(8)
    x = torch.randn(400, 5)
    y = x[:, 0] * x[:, 1] + torch.sin(x[:, 2])
    evaluate = Evaluator(x[300:], y[300:])
    model = Regressor(5)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    waited = 0
    for epoch in range(epochs):
        train_epoch(model, opt, x[:300], y[:300])
        err, improved = evaluate(model)
        waited = 0 if improved else waited + 1
        print(f"{epoch:2d} {err:.4f}{' *' if improved else ''}")
        if waited > patience:
            break


fit()
