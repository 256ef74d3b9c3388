"""The gradient of a result that another function reads."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, inputs):
        self.hidden = torch.tanh(self.body(inputs))  # nonleaf-grad: retain-grad
        return self.head(self.hidden)


def report(model):
    return getattr(model.hidden.grad, "shape", None)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    loss = net(torch.randn(16, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(report(net))
