"""Two parameters get one memory: each has its own gradient."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
words, scores = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
scores.weight.data = words.weight.data  # tied-by-data: tie-parameters
optimizer = torch.optim.SGD([*words.parameters(), *scores.parameters()], 0.1)
x = torch.randint(0, 5, (8,))
for _ in range(8):
    loss = F.cross_entropy(scores(words(x)), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
