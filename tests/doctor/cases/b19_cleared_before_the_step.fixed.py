import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, series):
        states, _ = self.rnn(series)
        return self.out(states[:, -1])


def windows(series, length):
    pieces = series.unfold(0, length + 1, 1)
    return pieces[:, :-1, None], pieces[:, -1:]


def step(model, optimizer, x, y, clip=1.0):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item(), float(norm)


def main():
    torch.manual_seed(0)
    time = torch.arange(160) / 6.0
    x, y = windows(torch.sin(time) + 0.3 * torch.sin(3 * time), length=12)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(5):
        order = torch.randperm(len(x))
        for picked in order.split(37):
            loss, norm = step(model, optimizer, x[picked], y[picked])
        print(f"epoch {epoch} loss {loss:.4f} gradient norm {norm:.3f}")


if __name__ == "__main__":
    main()
