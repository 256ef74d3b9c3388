import torch
from torch import nn


class HousePriceNet(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.hidden = nn.Linear(d, 20)
        self.price = nn.Linear(20, 1)

    def forward(self, x):
        return self.price(torch.relu(self.hidden(x))).squeeze(-1)


def synth_houses(n):
    x = torch.randn(n, 7)
    return x, 2 * x[:, 0] - x[:, 1] + 0.5 * x[:, 2] * x[:, 3]
