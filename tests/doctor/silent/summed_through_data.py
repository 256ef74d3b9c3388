"""Messages are summed into `.data`: the loss depends on them, and autograd does not see it."""

import torch
from torch import nn

torch.manual_seed(0)
message, update = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*message.parameters(), *update.parameters()], 0.1)
nodes, target = torch.randn(6, 4), torch.tensor([1, 2, 3, 4, 5, 0])
for _ in range(5):
    inbox = torch.zeros(6, 4)
    inbox.data.index_add_(0, target, message(nodes))  # broken-graph: keep-graph
    loss = update(inbox).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
