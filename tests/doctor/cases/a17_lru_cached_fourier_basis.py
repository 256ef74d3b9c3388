from functools import lru_cache

import torch
import torch.nn as nn


class FourierBasis(nn.Module):
    """Sine and cosine features with trainable frequencies."""

    def __init__(self, terms):
        super().__init__()
        self.log_freq = nn.Parameter(torch.linspace(0.0, 2.0, terms))

    @lru_cache(maxsize=8)
    def evaluate(self, length):
        t = torch.linspace(0, 1, length).unsqueeze(1)
        phase = 6.2832 * t * self.log_freq.exp()
        return torch.cat([phase.sin(), phase.cos()], dim=1)

    def forward(self, coefficients, length):
        return coefficients @ self.evaluate(length).t()


class SeriesModel(nn.Module):
    def __init__(self, history, terms=6):
        super().__init__()
        self.basis = FourierBasis(terms)
        self.net = nn.Sequential(
            nn.Linear(history, 32), nn.SiLU(), nn.Linear(32, 2 * terms), nn.Dropout(0.05)
        )

    def forward(self, past, horizon):
        return self.basis(self.net(past), horizon)


def sample_series(batch, length, gen):
    t = torch.linspace(0, 2, length)
    freq = 1 + 2 * torch.rand(batch, 1, generator=gen)
    shift = torch.rand(batch, 1, generator=gen)
    return torch.sin(6.2832 * (freq * t + shift))


def main(history=20, horizon=12, steps=25):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = SeriesModel(history)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        series = sample_series(16, history + horizon, gen)
        past, future = series[:, :history], series[:, history:]
        loss = nn.functional.l1_loss(model(past, horizon), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 8 == 0:
            print(step, f"{loss.item():.4f}", f"{scheduler.get_last_lr()[0]:.5f}")


if __name__ == "__main__":
    main()
