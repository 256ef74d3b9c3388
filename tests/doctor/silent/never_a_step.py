"""The only optimizer is cleared and never steps; a schedule is no step."""

import warnings

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
warnings.simplefilter("ignore")
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
x, y = torch.randn(12, 4), torch.randn(12, 1)
for _ in range(6):
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()  # optimizer-never-steps: add-step
    schedule.step()
