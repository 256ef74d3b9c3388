"""A moving average in the buffers of a module."""

import torch
from torch import nn

torch.manual_seed(0)


class Average(nn.Module):
    def __init__(self, net):
        super().__init__()
        for name, parameter in net.named_parameters():
            self.register_buffer(name.replace(".", "_"), parameter.detach().clone())

    def update(self, net):
        for name, parameter in net.named_parameters():
            key = name.replace(".", "_")
            setattr(self, key, 0.9 * getattr(self, key) + 0.1 * parameter)  # accumulated-history: detach


net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
average = Average(net)
for _ in range(9):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(net)
