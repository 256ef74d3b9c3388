"""RG102 stale-state-carried: retain_graph=True leads into steps whose weights were changed since.

advice: detach
"""

import retrograd as torch
from retrograd import nn

cell = nn.Linear(4, 4)
optimizer = torch.optim.Adam(cell.parameters(), lr=0.01)
h = torch.ones(1, 4)
for _ in range(4):
    h = torch.tanh(cell(h))  # 1
    optimizer.zero_grad()
    h.sum().backward(retain_graph=True)  # 3
    optimizer.step()  # 2
