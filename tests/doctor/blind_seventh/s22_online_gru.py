"""Online forecasting: a GRU cell sees one sample at a time and is updated after each one."""
import math

import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, x, h):
        h = self.cell(x, h)
        return self.readout(h), h


def signal(n):
    t = torch.arange(n + 1, dtype=torch.float32)
    return torch.sin(2 * math.pi * t / 25) + 0.3 * torch.sin(2 * math.pi * t / 7)


def run(n_steps=120, hidden=16, lr=5e-3):
    torch.manual_seed(0)
    series = signal(n_steps)
    model = Forecaster(hidden)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    h = torch.zeros(1, hidden)
    window = []
    for t in range(n_steps):
        x = series[t].view(1, 1)
        target = series[t + 1].view(1, 1)
        optimizer.zero_grad()
        pred, h = model(x, h)
        loss = criterion(pred, target)
        # without retain_graph the second step complains that the graph was freed
        loss.backward(retain_graph=True)
        optimizer.step()
        window.append(loss.item())
        if (t + 1) % 40 == 0:
            print(f"t={t + 1} loss {sum(window[-40:]) / 40:.4f}")
    return model


if __name__ == "__main__":
    run()
