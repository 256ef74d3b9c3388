import torch
from torch import nn

torch.manual_seed(0)
cell = nn.Linear(3, 3)
o = torch.optim.SGD(cell.parameters(), lr=0.0)
h = torch.zeros(1, 3)
for t in range(40):
    h = 0.5 * h + cell(torch.randn(1, 3))
    loss = h.pow(2).mean()
    o.zero_grad()
    loss.backward(retain_graph=True)
    o.step()
    if t % 10 == 9:
        h = h.detach()
