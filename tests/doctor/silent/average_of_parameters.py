"""A moving average of the parameters keeps their graphs."""

import torch
from torch import nn

torch.manual_seed(0)


class Average:
    def __init__(self, net):
        self.weights = {name: p.detach().clone() for name, p in net.named_parameters()}

    def update(self, net):
        for name, parameter in net.named_parameters():
            old = self.weights[name]
            self.weights[name] = 0.9 * old + 0.1 * parameter  # accumulated-history: detach


net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
average = Average(net)
for _ in range(9):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(net)
