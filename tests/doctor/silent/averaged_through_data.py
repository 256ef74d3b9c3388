"""An average of outputs is kept through `.data`, on purpose: the layers get gradients otherwise."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, head, spare = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(
    [*encoder.parameters(), *head.parameters(), *spare.parameters()], 0.1
)
centre = torch.zeros(4)
for step in range(6):
    hidden = encoder(torch.randn(8, 4))
    centre.data.mul_(0.9).add_(0.1 * hidden.mean(0))
    loss = head(hidden - centre).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
