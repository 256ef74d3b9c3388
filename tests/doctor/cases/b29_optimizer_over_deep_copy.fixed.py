import copy
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class State:
    model: nn.Module
    decay: float = 0.9
    average: nn.Module = field(init=False)
    optimizer: torch.optim.Optimizer = field(init=False)

    def __post_init__(self):
        self.average = copy.deepcopy(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    @torch.no_grad()
    def update_average(self):
        for mean, value in zip(self.average.parameters(), self.model.parameters()):
            mean.lerp_(value, 1 - self.decay)


def quantile_loss(prediction, target, levels):
    error = target - prediction
    return torch.maximum(levels * error, (levels - 1) * error).mean()


def fit(state, x, y, levels, steps=50):
    for step in range(steps):
        state.model.zero_grad()
        loss = quantile_loss(state.model(x), y, levels)
        loss.backward()
        state.optimizer.step()
        state.update_average()
        if step % 12 == 0:
            with torch.no_grad():
                averaged = quantile_loss(state.average(x), y, levels)
            print(f"{step:3d} model {loss.item():.4f} average {averaged.item():.4f}")


def main():
    torch.manual_seed(0)
    x = torch.rand(256, 1) * 4
    y = x.sin() + 0.3 * x * torch.randn(256, 1)
    levels = torch.tensor([[0.1, 0.5, 0.9]])
    net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 3))
    fit(State(net), x, y, levels)


main()
