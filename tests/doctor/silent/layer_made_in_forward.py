"""A layer comes into being after the optimizer was built."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), None

    def forward(self, inputs):
        hidden = self.body(inputs).relu()
        if self.head is None:
            self.head = nn.Linear(hidden.shape[1], 1)
        return self.head(hidden)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # stale-optimizer-params: rebuild-optimizer
for _ in range(6):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
