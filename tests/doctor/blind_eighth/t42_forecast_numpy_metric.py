"""Multi-step demand forecast; tracks MAPE next to the training loss."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(41)


def mape(y_true, y_pred):
    return float(np.mean(np.abs((y_true - y_pred) / np.maximum(np.abs(y_true), 1e-3))))


class TCN(nn.Module):
    def __init__(self, horizon):
        super().__init__()
        self.c1 = nn.Conv1d(1, 16, 3, padding=2, dilation=2)
        self.c2 = nn.Conv1d(16, 16, 3, padding=4, dilation=4)
        self.out = nn.Linear(16, horizon)

    def forward(self, x):
        h = torch.relu(self.c1(x.unsqueeze(1)))
        h = torch.relu(self.c2(h))
        return self.out(h.mean(dim=2))


def windows(series, past=32, horizon=4):
    w = series.unfold(0, past + horizon, 1)
    return w[:, :past], w[:, past:]


t = torch.arange(400).float()
series = 10 + 3 * torch.sin(t / 6) + 0.3 * torch.randn(400)
x, y = windows(series)
model = TCN(horizon=4)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    losses, metrics = [], []
    for idx in torch.randperm(len(x)).split(64):
        opt.zero_grad()
        pred = model(x[idx])
        loss = nn.functional.l1_loss(pred, y[idx])
        loss.backward()
        opt.step()
        losses.append(loss.item())
        metrics.append(mape(y[idx].numpy(), pred.numpy()))
    print(f"epoch {epoch} L1 {np.mean(losses):.3f} MAPE {np.mean(metrics):.3f}")
