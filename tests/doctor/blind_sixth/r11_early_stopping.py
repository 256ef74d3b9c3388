"""Regression with validation, keep the best weights and restore them at the end."""
import torch
from torch import nn

torch.manual_seed(11)


class EarlyStopper:
    def __init__(self, patience=15):
        self.patience = patience
        self.best = float("inf")
        self.best_state = None
        self.bad = 0

    def update(self, value, model):
        if value < self.best:
            self.best = value
            self.best_state = model.state_dict()
            self.bad = 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def split():
    x = torch.rand(60, 1) * 4 - 2
    y = torch.sin(2 * x) + 0.4 * torch.randn_like(x)
    return x[:25], y[:25], x[25:], y[25:]


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        value = nn.functional.mse_loss(model(x), y).item()
    model.train()
    return value


xt, yt, xv, yv = split()
model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
stopper = EarlyStopper(patience=60)

for epoch in range(400):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(xt), yt)
    loss.backward()
    opt.step()
    if stopper.update(validate(model, xv, yv), model):
        print("stopped at epoch", epoch)
        break

model.load_state_dict(stopper.best_state)
final = validate(model, xv, yv)
print(f"best validation loss {stopper.best:.4f}")
print(f"validation loss of the restored model {final:.4f}")
