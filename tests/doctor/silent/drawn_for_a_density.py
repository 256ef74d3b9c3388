import torch
from torch import nn

torch.manual_seed(0)
mu_net = nn.Linear(3, 2)
o = torch.optim.SGD(mu_net.parameters(), lr=0.1)
for _ in range(5):
    mu = mu_net(torch.randn(4, 3))
    a = torch.normal(mu.detach(), 0.5)
    r = -a.pow(2).sum(1)
    logp = -((a - mu) ** 2).sum(1)
    loss = -(logp * r).mean()
    o.zero_grad()
    loss.backward()
    o.step()
