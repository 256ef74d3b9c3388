import torch
from torch import nn

torch.manual_seed(39)
torch.set_num_threads(1)


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None
        self.bad_epochs = 0

    def check(self, loss, model):
        if loss < self.best_loss - 1e-4:
            self.best_loss = loss
            self.best_state = model.state_dict()
            self.bad_epochs = 0
        else:
            self.bad_epochs += 1
        return self.bad_epochs >= self.patience


def noisy_cubic(n):
    x = torch.rand(n, 1) * 4 - 2
    return x, x ** 3 / 4 - x / 2 + 0.4 * torch.randn(n, 1)


x_train, y_train = noisy_cubic(24)
x_valid, y_valid = noisy_cubic(200)
model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
stopper = EarlyStopping(patience=60)
criterion = nn.MSELoss()

for epoch in range(300):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(x_train), y_train)
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        valid = criterion(model(x_valid), y_valid).item()
    if epoch % 50 == 0:
        print(epoch, f"train {loss.item():.4f} valid {valid:.4f}")
    if stopper.check(valid, model):
        print("stopped at", epoch)
        break

model.load_state_dict(stopper.best_state)
with torch.no_grad():
    restored = criterion(model(x_valid), y_valid).item()
print(f"best {stopper.best_loss:.4f} restored {restored:.4f}")
