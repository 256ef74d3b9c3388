"""Forecast the next value of a long noisy sine, feeding the series chunk by chunk."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        y, self.state = self.lstm(x, self.state)
        return self.out(y)


def make_series(n=600):
    t = torch.arange(n, dtype=torch.float32)
    return torch.sin(t / 9.0) + 0.1 * torch.randn(n)


series = make_series()
chunk = 50
inputs = series[:-1].unfold(0, chunk, chunk)
targets = series[1:].unfold(0, chunk, chunk)

model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(4):
    model.reset()
    running = 0.0
    for xb, yb in zip(inputs, targets):
        optimizer.zero_grad()
        pred = model(xb.view(1, -1, 1))
        loss = criterion(pred, yb.view(1, -1, 1))
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: mse {running / len(inputs):.4f}")
