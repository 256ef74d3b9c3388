"""A reentrant checkpoint of data trains nothing that is inside."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, inputs):
        hidden = checkpoint(self.body, inputs, use_reentrant=True)  # broken-graph: fix-checkpoint-call
        return self.head(hidden.relu())


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
