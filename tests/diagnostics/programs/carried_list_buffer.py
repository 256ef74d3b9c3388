"""RG101 stale-state-carried: features of earlier batches are kept in a list.

advice: detach, combine-losses
"""

import retrograd as torch
from retrograd import nn

encoder = nn.Linear(4, 4)
buffer = []
for _ in range(3):
    feature = torch.tanh(encoder(torch.ones(1, 4)))  # 1
    buffer.append(feature)
    center = torch.cat(buffer).mean(0)  # 3
    loss = (feature - center).pow(2).sum() + feature.sum()
    loss.backward()  # 2
