import torch
import torch.nn.functional as F
from torch import nn

from regulariser import ActivityRegulariser

torch.manual_seed(0)


class Audio(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.spectral = nn.Conv1d(1, 8, 9, stride=4)
        self.temporal = nn.Conv1d(8, 8, 5, stride=2)
        self.classify = nn.Linear(8, classes)

    def forward(self, x):
        h = F.softplus(self.spectral(x))
        h = F.softplus(self.temporal(h))
        return self.classify(h.mean(-1))


def tones(n=24):
    y = torch.randint(0, 4, (n,))
    time = torch.linspace(0, 1, 96)
    return torch.sin(6.28 * (3 + 4 * y[:, None]) * time)[:, None] + 0.1 * torch.randn(n, 1, 96), y


model = Audio()
regulariser = ActivityRegulariser(model, ["spectral", "temporal"], weight=1e-2)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for step in range(40):
    x, y = tones()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    penalty = regulariser.after_backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step} loss {loss.item():.4f} penalty {float(penalty.detach()):.5f}")
regulariser.remove()
