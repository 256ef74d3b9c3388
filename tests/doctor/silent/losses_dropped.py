"""Of all batches the last one trains: backward stands behind the loop."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]


def epoch():
    optimizer.zero_grad()
    for x, y in batches:
        loss = F.mse_loss(net(x), y)  # dropped-losses: combine-losses
    loss.backward()
    optimizer.step()


for _ in range(6):
    epoch()
