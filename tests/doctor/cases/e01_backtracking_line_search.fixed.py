"""Steepest descent with backtracking on a calibration problem (camera response curves)."""
import math

import torch
from torch import nn

torch.manual_seed(3)


class ResponseCurve(nn.Module):
    def __init__(self, knots=9):
        super().__init__()
        self.gamma = nn.Parameter(torch.tensor(0.3))
        self.mix = nn.Sequential(nn.Linear(3, knots), nn.Softplus(), nn.Linear(knots, 3))

    def forward(self, exposure):
        lifted = exposure.clamp(min=1e-4) ** self.gamma.exp()
        return self.mix(lifted)


def objective(curve, exposure, measured):
    return nn.functional.huber_loss(curve(exposure), measured, delta=0.5)


def descend(curve, exposure, measured, rate=8.0, shrink=0.5, tries=12):
    before = {name: value.clone() for name, value in curve.state_dict().items()}
    loss = objective(curve, exposure, measured)
    curve.zero_grad()
    loss.backward()
    for attempt in range(tries):
        with torch.no_grad():
            for p in curve.parameters():
                p -= rate * p.grad
            trial = objective(curve, exposure, measured)
        if math.isfinite(trial.item()) and trial < loss:
            return rate, trial.item()
        curve.load_state_dict(before)
        rate *= shrink
    return rate, loss.item()


def main():
    exposure = torch.rand(40, 3)
    measured = torch.sqrt(exposure) @ torch.tensor([[1.0, 0.2, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 1.1]])
    curve = ResponseCurve()
    rate = 8.0
    for sweep in range(6):
        rate, value = descend(curve, exposure, measured, rate=2 * rate)
        print(f"sweep {sweep}: rate {rate:.4f} loss {value:.5f}")


if __name__ == "__main__":
    main()
