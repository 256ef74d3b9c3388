"""RG101 stale-state-carried: a module keeps its state in an attribute.

advice: detach + runs, combine-losses
"""

import retrograd as torch
from retrograd import nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.write = nn.Linear(4, 4)
        self.state = torch.zeros(2, 4)

    def forward(self, x):
        self.state = torch.tanh(self.write(x) + 0.5 * self.state)  # 1 3
        return self.state


memory = Memory()
for _ in range(2):
    loss = memory(torch.ones(2, 4)).sum()
    loss.backward()  # 2
