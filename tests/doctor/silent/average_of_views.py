"""The average begins with views of the parameters: each update writes into the model."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
average = {}
for name, parameter in model.named_parameters():
    average[name] = parameter.data  # average-of-views: clone


def update():
    for name, parameter in model.named_parameters():
        average[name].mul_(0.9).add_(0.1 * parameter.data)
        average[name].lerp_(parameter.data, 0.1)


for _ in range(6):
    loss = (model(torch.randn(8, 4)) - 3).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update()
