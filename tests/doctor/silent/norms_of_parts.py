import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
o = torch.optim.SGD(m.parameters(), lr=0.1)
def norm():
    return float(torch.stack([p.grad.norm() for p in m.parameters()]).norm())
for _ in range(5):
    out = m(torch.randn(4, 3))
    fit, size = (out - 1).pow(2).mean(), out.abs().mean()
    o.zero_grad()
    fit.backward(retain_graph=True)
    a = norm()
    (fit + 0.1 * size).backward()  # same-loss-twice: zero-grad
    o.step()
