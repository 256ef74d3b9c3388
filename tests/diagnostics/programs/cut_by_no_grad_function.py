"""RG103 no-grad-scope: the forward pass is a function that records nothing.

advice: enable-grad
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 1)


@torch.no_grad()
def evaluate(x):
    return model(x).mean()


loss = evaluate(torch.ones(2, 3))  # 1
loss.backward()  # 2
