import torch
import torch.nn as nn
from torch.optim import Adam

true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, y):
        return self.net(y)


def rk2(field, y0, h, steps):
    """Midpoint rule; returns the states at all grid points."""
    y = y0.clone()
    path = [y0]
    for _ in range(steps):
        mid = y + 0.5 * h * field(y)
        y += h * field(mid)
        path.append(y.clone())
    return torch.stack(path)


@torch.no_grad()
def reference(y0, h, steps):
    return rk2(lambda y: y @ true_A.T, y0, h, steps)


def sample_problem(batch):
    y0 = torch.rand(batch, 2) * 3 - 1.5
    return y0, reference(y0, 0.05, 12)


if __name__ == "__main__":
    torch.manual_seed(9)
    field = Field()
    optimizer = Adam(field.parameters(), lr=0.01)
    for it in range(40):
        y0, truth = sample_problem(32)
        guess = rk2(field, y0, 0.05, 12)
        loss = (guess - truth).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 10 == 9:
            print(it + 1, round(loss.item(), 4))
