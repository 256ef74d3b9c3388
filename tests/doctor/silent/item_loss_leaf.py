import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    out = net(torch.randn(6, 4))
    loss = torch.tensor(out.pow(2).mean().item(), requires_grad=True)  # broken-graph: keep-graph
    opt.zero_grad()
    loss.backward()
    opt.step()
