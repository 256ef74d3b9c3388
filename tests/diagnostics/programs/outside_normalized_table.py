"""RG101 precomputed-outside-loop: a normalized embedding table is made once.

advice: recompute-forward, detach + runs
"""

import retrograd as torch
from retrograd import nn

table = nn.Parameter(torch.ones(5, 3))
head = nn.Linear(3, 1)
optimizer = torch.optim.SGD([table, *head.parameters()], lr=0.1)
unit = table / table.norm(dim=1, keepdim=True)  # 1
for index in (0, 3, 4):
    loss = head(unit[index]).pow(2).sum()  # 3
    optimizer.zero_grad()
    loss.backward()  # 2
    optimizer.step()
