"""RG101 freed-by-grad-call: a gradient penalty is computed before the loss is sent back.

advice: retain-graph + runs, create-graph + runs
"""

import retrograd as torch
from retrograd import nn

critic = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
x = torch.ones(2, 3, requires_grad=True)
score = critic(x)  # 1
slope = torch.autograd.grad(score.sum(), x)[0]  # 2
loss = score.mean() + (slope.norm() - 1) ** 2  # 3
loss.backward()
