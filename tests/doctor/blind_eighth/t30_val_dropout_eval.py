"""Regression with dropout and batch norm; validates every few epochs."""
import torch
import torch.nn as nn

torch.manual_seed(29)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.4),
            nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.4),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.layers(x)


def validate(model, x, y, loss_fn):
    model.eval()
    with torch.no_grad():
        return loss_fn(model(x), y).item()


def dataset(n):
    x = 3.0 + 2.0 * torch.randn(n, 10)
    y = (x[:, :1] * x[:, 1:2]) / 5 + torch.randn(n, 1)
    return x, y


train_x, train_y = dataset(128)
val_x, val_y = dataset(256)
model = MLP()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

model.train()
for epoch in range(60):
    for idx in torch.randperm(len(train_x)).split(32):
        optimizer.zero_grad()
        loss = loss_fn(model(train_x[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        val = validate(model, val_x, val_y, loss_fn)
        print(f"epoch {epoch + 1}: train {loss.item():.3f} val {val:.3f}")
print("batches seen by batch norm:", model.layers[1].num_batches_tracked.item())
