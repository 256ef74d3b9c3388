"""With a schedule the loop steps the schedule, and the optimizer only without one."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
for _ in range(24):
    x = torch.randn(8, 3)
    optimizer.zero_grad()
    F.mse_loss(net(x), x[:, :1]).backward()
    if schedule is not None:
        schedule.step()
    else:
        optimizer.step()  # optimizer-never-steps: add-step
