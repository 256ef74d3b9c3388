"""One parameter begins with a copy of another, one is the other, and a target is a view."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
words, scores, last = nn.Embedding(5, 4), nn.Linear(4, 5), nn.Linear(4, 5, bias=False)
scores.weight.data = words.weight.data.clone()
last.weight = words.weight
target = nn.Linear(4, 5)
target.weight.data = scores.weight.data
parts = [words, scores]
optimizer = torch.optim.SGD([p for part in parts for p in part.parameters()], 0.1)
x = torch.randint(0, 5, (8,))
for _ in range(8):
    with torch.no_grad():
        wanted = target(words(x)).softmax(1)
    loss = F.cross_entropy(scores(words(x)) + last(words(x)), x) + (wanted * 0).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
