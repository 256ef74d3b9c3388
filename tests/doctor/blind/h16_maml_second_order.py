import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(116)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
log_lr = nn.Parameter(torch.tensor(-3.0))
meta = torch.optim.Adam([*net.parameters(), log_lr], lr=5e-3)


def tasks(n):
    for _ in range(n):
        a, b = torch.randn(2).tolist()
        x = torch.rand(16, 1) * 4 - 2
        y = a * torch.sin(2 * x) + b
        yield (x[:8], y[:8]), (x[8:], y[8:])


def inner(params, x, y, steps):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - log_lr.exp() * g for (k, p), g in zip(params.items(), grads)}
    return params


for it in range(50):
    meta.zero_grad()
    total = 0.0
    for (xs, ys), (xq, yq) in tasks(4):
        fast = inner(dict(net.named_parameters()), xs, ys, steps=2)
        q = F.mse_loss(functional_call(net, fast, (xq,)), yq) / 4
        q.backward()  # accumulates over the tasks
        total += q.item()
    meta.step()
    if it % 10 == 0:
        print(f"{it} query loss {total:.3f} inner lr {log_lr.exp().item():.4f}")
