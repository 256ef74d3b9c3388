import torch
import torch.nn as nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def saliency(x, y):
    x = x.clone().requires_grad_()
    F.cross_entropy(net(x), y).backward()
    return x.grad.abs().detach()
for step in range(6):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    mask = saliency(x, y) > 0.01
    opt.zero_grad()
    loss = F.cross_entropy(net(x * mask), y)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
