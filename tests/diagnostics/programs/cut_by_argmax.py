"""RG103 broken-graph: the loss compares predicted class numbers.

advice: keep-graph
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 2)
predicted = model(torch.ones(4, 3)).argmax(1)  # 1
loss = (predicted.float() - torch.ones(4)).abs().mean()
loss.backward()  # 2
