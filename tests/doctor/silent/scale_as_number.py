"""A learned scale is read as a Python number, in the model and for the log."""

import math

import torch
from torch import nn

torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)
        self.log_scale = nn.Parameter(torch.tensor(0.5))

    @property
    def scale(self):
        return min(math.exp(self.log_scale), 100.0)  # broken-graph: keep-graph

    def forward(self, inputs):
        return self.scale * self.body(inputs)


net = Scaled()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(5):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(net.log_scale.item())
