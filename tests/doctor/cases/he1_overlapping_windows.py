"""Truncated backpropagation: every 2 steps a loss is sent back through the last 6 steps."""
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
EVERY, REACH = 2, 6

cell = nn.GRUCell(1, 10)
read = nn.Linear(10, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *read.parameters()], lr=0.02)

series = torch.sin(0.3 * torch.arange(41)) + 0.05 * torch.randn(41)
inputs = deque(maxlen=REACH)
starts = deque([torch.zeros(1, 10)], maxlen=REACH + 1)

for t in range(40):
    inputs.append(series[t].view(1, 1))
    with torch.no_grad():
        starts.append(cell(inputs[-1], starts[-1]))
    if t < REACH or t % EVERY:
        continue
    # the windows overlap, so each one is computed again from the state at its beginning
    hidden = starts[0]
    for x in inputs:
        hidden = cell(x, hidden)
    loss = (read(hidden).squeeze() - series[t + 1]).square()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 8 == 0:
        print(t, f"{loss.item():.4f}")
