"""One clip stands before backward, another one is given a generator that is used up."""

import warnings

import torch
from torch import nn

torch.manual_seed(0)
warnings.simplefilter("ignore")
net = nn.Linear(4, 1)
parameters = net.parameters()
optimizer = torch.optim.SGD(parameters, 0.1)
for _ in range(6):
    loss = (net(torch.randn(8, 4)) - 3).pow(2).mean()
    optimizer.zero_grad()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # clip-without-effect: reorder-step
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 0.1)  # clip-without-effect: renew-parameters
    optimizer.step()
