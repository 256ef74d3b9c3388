import torch
from torch import nn

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(D.parameters())
class Penalty:
    def __init__(self, net, weight):
        self.net, self.weight = net, weight
    def __call__(self, x):
        x.requires_grad_(True)
        out = self.net(x).sum()
        grads = torch.autograd.grad(out, x, retain_graph=True)  # missing-create-graph: create-graph
        return self.weight * sum((g.norm(2, 1) - 1).pow(2).mean() for g in grads)
pen = Penalty(D, 10.0)
for _ in range(4):
    real, fake = torch.randn(5, 2), torch.randn(5, 2)
    loss = D(fake).mean() - D(real).mean() + pen(0.5 * real + 0.5 * fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
