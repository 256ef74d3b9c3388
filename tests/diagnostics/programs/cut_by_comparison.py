"""RG103 broken-graph: accuracy as a loss.

advice: keep-graph
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 1)
accuracy = (model(torch.ones(4, 3)) > 0).float().mean()  # 1
loss = 1 - accuracy
loss.backward()  # 2
