"""RG101 precomputed-outside-loop: mixing weights are computed when the module is made.

advice: recompute-forward, detach + runs
"""

import retrograd as torch
from retrograd import nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(2))
        self.first, self.second = nn.Linear(3, 1), nn.Linear(3, 1)
        self.weights = torch.softmax(self.scores, 0)  # 1

    def forward(self, x):
        both = torch.cat([self.first(x), self.second(x)], 1)
        return (both * self.weights).sum(1)  # 3


model = Mixture()
for _ in range(2):
    loss = model(torch.ones(2, 3)).pow(2).mean()
    loss.backward()  # 2
