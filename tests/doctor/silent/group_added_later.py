"""Parameters join the optimizer later, but run under no_grad."""

import torch
from torch import nn

torch.manual_seed(0)

body, head = nn.Linear(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)


def features(inputs):
    with torch.no_grad():  # no-grad-scope: enable-grad
        return body(inputs).relu()


for number in range(8):
    if number == 4:
        optimizer.add_param_group({"params": body.parameters()})
    optimizer.zero_grad()
    head(features(torch.randn(8, 4))).pow(2).mean().backward()
    optimizer.step()
