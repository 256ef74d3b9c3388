import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
m = nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(6)]
o.zero_grad()
for epoch in range(6):
    for i, (x, y) in enumerate(data):
        (F.mse_loss(m(x), y) / 8).backward()
        if (i + 1) % 8 == 0:  # optimizer-never-steps: reorder-step
            o.step()
            o.zero_grad()
