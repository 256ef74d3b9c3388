import torch
import torch.nn as nn
def make_meter():
    total = torch.zeros(())
    def add(x):
        nonlocal total
        total = total + x  # accumulated-history: detach
        return total
    return add
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
meter = make_meter()
for _ in range(10):
    loss = net(torch.randn(3, 4)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter(loss)
