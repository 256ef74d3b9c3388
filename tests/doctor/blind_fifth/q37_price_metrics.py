import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(50)
torch.set_num_threads(1)
np.random.seed(50)

feats = np.random.rand(400, 6).astype("float32")
price = (feats @ np.array([3, -2, 1.5, 0, 0.5, 4]) + 0.1 * np.random.randn(400)).astype("float32")
train_dl = DataLoader(TensorDataset(torch.from_numpy(feats), torch.from_numpy(price)), batch_size=40, shuffle=True)


class Regressor(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 1))

    def forward(self, x):
        return self.seq(x).flatten()


def r2_score(y_true, y_pred):
    y_true, y_pred = np.concatenate(y_true), np.concatenate(y_pred)
    return 1 - ((y_true - y_pred) ** 2).sum() / ((y_true - y_true.mean()) ** 2).sum()


def train_one_epoch(model, dl, criterion, optimizer):
    model.train()
    losses, trues, preds = [], [], []
    for xb, yb in dl:
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        trues.append(yb.numpy())
        preds.append(out.cpu().numpy())
    return np.mean(losses), r2_score(trues, preds)


model = Regressor(feats.shape[1])
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(12):
    loss, r2 = train_one_epoch(model, train_dl, criterion, optimizer)
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {loss:.4f} r2 {r2:.3f}")
