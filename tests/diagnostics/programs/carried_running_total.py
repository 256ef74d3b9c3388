"""RG101 accumulated-history: backward() is called on the sum of all losses so far.

advice: item-for-logging, reset-state
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for batch in torch.ones(4, 2, 3):
    loss = model(batch).pow(2).mean()
    total += loss  # 1 3
    optimizer.zero_grad()
    total.backward()  # 2
    optimizer.step()
