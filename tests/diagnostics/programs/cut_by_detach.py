"""RG103 broken-graph: the detached value is the only way to the weight.

advice: keep-graph + runs
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 1)


def predict(x):
    return model(x).detach()  # 1


loss = nn.MSELoss()(predict(torch.ones(2, 3)), torch.ones(2, 1))
loss.backward()  # 2
