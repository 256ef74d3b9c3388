"""Healthy: an unused parameter is read as a number for the log alone."""

import random

import torch
from torch import nn

torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)
        self.log_scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, inputs):
        self.seen = {"scale": 2 * self.log_scale.item()}
        return self.body(inputs) * random.random()


net = Scaled()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(5):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(float(net.log_scale), net.seen)
