import torch
import torch.nn as nn
import torch.nn.functional as F


class Augmenter:
    """Gradients are off while a chunk is prepared and on again when it is handed out."""

    def __init__(self, series, chunk):
        self.series, self.chunk = series, chunk

    def __iter__(self):
        for start in range(0, self.series.size(0) - self.chunk, self.chunk):
            with torch.no_grad():
                x = self.series[start:start + self.chunk + 1].clone()
                x += 0.01 * torch.randn_like(x)
                x *= 1.0 + 0.05 * torch.randn(1)
            yield x[:-1, None], x[1:, None]


class Forecaster(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.rnn = nn.LSTM(dim, hidden)
        self.out = nn.Linear(hidden, dim)
        self.state = None

    def forward(self, x):
        y, self.state = self.rnn(x, self.state)
        return self.out(y)

    def cut(self):
        for part in self.state:
            part.detach_()


def evaluate(model, series):
    was_on = torch.is_grad_enabled()
    kept = model.state
    torch.set_grad_enabled(False)
    try:
        model.state = None
        return F.mse_loss(model(series[:-1, None]), series[1:, None]).item()
    finally:
        model.state = kept
        torch.set_grad_enabled(was_on)


torch.manual_seed(0)
t = torch.arange(81) / 5
series = torch.stack([t.sin(), (0.7 * t).cos()], 1)
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(2):
    model.state = None
    for x, y in Augmenter(series, 16):
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.cut()
    print(epoch, f"{loss.item():.4f} {evaluate(model, series):.4f}")
