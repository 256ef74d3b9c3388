# Gradient boosting with small neural nets: each stage fits what the ensemble has left over.
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Boosted:
    shrinkage: float = 0.5
    stages: list = field(default_factory=list)

    def predict(self, x):
        with torch.no_grad():
            return sum(self.shrinkage * stage(x) for stage in self.stages)


def new_stage(width=16):
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 1))


def fit_stage(stage, x, y, so_far, steps):
    optimizer = torch.optim.Adam(stage.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(so_far + stage(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def fit(x, y, stages=3, steps=15):
    model = Boosted()
    so_far = torch.zeros_like(y)
    for number in range(stages):
        stage = new_stage()
        loss = fit_stage(stage, x, y, so_far, steps)
        model.stages.append(stage)
        so_far = so_far + model.shrinkage * stage(x).detach()
        print(f"stage {number}: {loss:.4f}")
    return model


def main():
    torch.manual_seed(0)
    x = torch.rand(60, 2) * 4 - 2
    y = (x[:, :1] * 2).sin() + x[:, 1:].square() / 2
    model = fit(x, y)
    print(f"ensemble {F.mse_loss(model.predict(x), y).item():.4f}")


if __name__ == "__main__":
    main()
