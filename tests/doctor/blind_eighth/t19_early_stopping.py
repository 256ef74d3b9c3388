"""Early stopping on a small regression problem that overfits quickly."""
import torch
import torch.nn as nn

torch.manual_seed(18)


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None
        self.counter = 0

    def __call__(self, val_loss, model):
        if val_loss < self.best_loss:
            self.best_loss = val_loss
            self.best_state = model.state_dict()
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


def data(n):
    x = torch.randn(n, 15)
    return x, x[:, :1] - 0.5 * x[:, 1:2] + 0.8 * torch.randn(n, 1)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        loss = nn.functional.mse_loss(model(x), y).item()
    model.train()
    return loss


x_tr, y_tr = data(40)
x_va, y_va = data(200)
model = nn.Sequential(nn.Linear(15, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
stopper = EarlyStopping(patience=40)

for epoch in range(300):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x_tr), y_tr)
    loss.backward()
    opt.step()
    val = evaluate(model, x_va, y_va)
    if stopper(val, model):
        print("stopped at epoch", epoch)
        break

model.load_state_dict(stopper.best_state)
print(f"best val loss seen {stopper.best_loss:.4f}")
print(f"val loss of restored model {evaluate(model, x_va, y_va):.4f}")
