"""RG101 stale-state-carried: the hidden state of a cell goes from batch to batch.

advice: detach, combine-losses
"""

import retrograd as torch
from retrograd import nn


class Cell(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.input = nn.Linear(size, size)
        self.hidden = nn.Linear(size, size)

    def forward(self, x, h):
        return torch.tanh(self.input(x) + self.hidden(h))  # 1 3


cell = Cell(4)
optimizer = torch.optim.Adam(cell.parameters(), lr=0.01)
h = torch.zeros(2, 4)
for batch in torch.ones(3, 2, 4):
    h = cell(batch, h)
    loss = (h - batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # 2
    optimizer.step()
