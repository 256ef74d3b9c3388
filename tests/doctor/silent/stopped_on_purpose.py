"""After it has stopped early the program goes on to compute gradients, and changes nothing."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
stopped = False
for turn in range(40):
    x = torch.randn(8, 3)
    opt.zero_grad()
    F.mse_loss(net(x), x[:, :1]).backward()
    stopped = stopped or turn > 10
    if not stopped:
        opt.step()
