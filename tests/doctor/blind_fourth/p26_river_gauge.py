import torch
from torch import nn

torch.manual_seed(6)
torch.set_num_threads(1)


class GaugeForecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, series):
        out, _ = self.gru(series)
        return self.head(out[:, -1])


def windows(n, length=16):
    phase = torch.rand(n, 1) * 6.28
    t = torch.arange(length + 1).float()
    level = torch.sin(0.5 * t + phase) + 0.3 * torch.sin(0.17 * t + 2 * phase)
    return level[:, :-1].unsqueeze(-1), level[:, -1:]


def train_epoch(model, data, optimizer, loss_fn):
    model.train()
    total = 0.0
    for xb, yb in data:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(data)


def evaluate(model, data, loss_fn):
    model.eval()
    torch.set_grad_enabled(False)
    total = 0.0
    for xb, yb in data:
        total += loss_fn(model(xb), yb).item()
    return total / len(data)


def main():
    model = GaugeForecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss_fn = nn.SmoothL1Loss()
    train_data = [windows(32) for _ in range(8)]
    valid_data = [windows(32) for _ in range(3)]
    for epoch in range(6):
        tr = train_epoch(model, train_data, optimizer, loss_fn)
        va = evaluate(model, valid_data, loss_fn)
        print(f"epoch {epoch} train {tr:.4f} valid {va:.4f}")


main()
