import torch
import torch.nn as nn
net = nn.Linear(4, 1)
base = torch.optim.SGD(net.parameters(), lr=0.01)
def half(x):
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss
for _ in range(5):
    x = torch.randn(5, 4)
    half(x)
    with torch.no_grad():
        shift = [0.05 * p.grad / (p.grad.norm() + 1e-8) for p in net.parameters()]
        for p, e in zip(net.parameters(), shift):
            p.add_(e)
    base.zero_grad()
    half(x)
    with torch.no_grad():
        for p, e in zip(net.parameters(), shift):
            p.sub_(e)
    base.step()
    base.zero_grad()
