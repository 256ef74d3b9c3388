import torch
from torch import nn

torch.manual_seed(0)
m = nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
count = 0
for epoch in range(10):
    for x in torch.randn(3, 4, 3):
        m(x).pow(2).mean().div(8).backward()
        count += 1
        if count % 8 == 0:
            o.step()
            o.zero_grad()
