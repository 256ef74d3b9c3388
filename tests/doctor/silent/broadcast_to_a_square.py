"""A column meets a row: in a difference, in a loss of two arguments, in a product."""

import warnings

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
warnings.simplefilter("ignore")
x = torch.randn(12, 4)
y, advantage = x.sum(1), torch.randn(12, 1)
net, policy = nn.Linear(4, 1), nn.Linear(4, 3)
optimizer = torch.optim.SGD([*net.parameters(), *policy.parameters()], 0.01)
for _ in range(6):
    optimizer.zero_grad()
    (0.5 * (net(x) - y).pow(2)).mean().backward()  # loss-broadcast: match-shapes
    F.smooth_l1_loss(net(x), y).backward()  # loss-broadcast: match-shapes
    chosen = policy(x).log_softmax(1)[:, 0]
    loss = -(chosen * advantage).mean()  # loss-broadcast: match-shapes
    loss.backward()
    optimizer.step()
