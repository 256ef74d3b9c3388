"""Softmax in the model, and once more in the loss; sigmoid likewise; no logarithm for nll."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x):
        return self.lin(x).softmax(dim=1)  # wrong-loss-input: match-loss


net, gate, plain = Net(), nn.Linear(4, 1), nn.Linear(4, 3)
optimizer = torch.optim.SGD(
    [*net.parameters(), *gate.parameters(), *plain.parameters()], 0.1
)
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    p = torch.sigmoid(gate(x))  # wrong-loss-input: match-loss
    F.binary_cross_entropy_with_logits(p, (y > 0).float()[:, None]).backward()
    F.nll_loss(plain(x), y).backward()  # wrong-loss-input: match-loss
    optimizer.step()
