import torch
import torch.nn as nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(4):
        nn.functional.cross_entropy(net(x + delta), y).backward()
        delta.data = (delta + 0.1 * delta.grad.sign()).clamp(-0.3, 0.3)
        delta.grad.zero_()
    opt.zero_grad()
    nn.functional.cross_entropy(net(x + delta.detach()), y).backward()
    opt.step()
