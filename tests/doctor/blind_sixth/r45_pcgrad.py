"""Gradient surgery for three tasks (projected conflicting gradients)."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)


class Net(nn.Module):
    def __init__(self, tasks=3):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(tasks))

    def forward(self, x):
        z = self.shared(x)
        return [h(z).squeeze(1) for h in self.heads]


def project(grads):
    out = []
    for i, g in enumerate(grads):
        g = g.clone()
        others = [o for j, o in enumerate(grads) if j != i]
        random.shuffle(others)
        for o in others:
            dot = torch.dot(g, o)
            if dot < 0:
                g -= dot / o.norm().pow(2) * o
        out.append(g)
    return torch.stack(out).sum(0)


def assign(params, vector):
    start = 0
    for p in params:
        p.grad = vector[start:start + p.numel()].view_as(p).clone()
        start += p.numel()


net = Net()
shared, heads = list(net.shared.parameters()), list(net.heads.parameters())
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x = torch.randn(200, 5)
targets = [x[:, 0] + x[:, 1], -x[:, 0] + x[:, 2] ** 2, x[:, 3] * x[:, 4]]

for step in range(60):
    losses = [F.mse_loss(o, t) for o, t in zip(net(x), targets)]
    opt.zero_grad()
    per_task = []
    for loss in losses:
        g = torch.autograd.grad(loss, shared, retain_graph=True)
        per_task.append(torch.cat([v.flatten() for v in g]))
    torch.stack(losses).sum().backward(inputs=heads)
    assign(shared, project(per_task))
    opt.step()
    if step % 20 == 0:
        print(step, [round(l.item(), 3) for l in losses])
