import torch
from torch import nn


class FakeQuant(nn.Module):
    """Rounds to 16 levels on the way forward, lets the gradient through unchanged."""

    def __init__(self):
        super().__init__()
        self.register_buffer("range", torch.ones(()))

    def forward(self, x):
        step = self.range / 8
        rounded = (x / step).round().clamp(-8, 7) * step
        return x + (rounded - x).detach()


class FakeQuantNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.q1 = nn.Linear(8, 16), FakeQuant()
        self.fc2, self.q2 = nn.Linear(16, 3), FakeQuant()

    def forward(self, x):
        return self.q2(self.fc2(torch.relu(self.q1(self.fc1(x)))))
