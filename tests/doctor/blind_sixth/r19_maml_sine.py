"""MAML on sinusoids with functional_call, second order."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
inner_lr = nn.Parameter(torch.tensor(0.05))
meta_opt = torch.optim.Adam([*net.parameters(), inner_lr], lr=3e-3)


def task(n=10):
    amp, phase = 0.5 + 2 * torch.rand(1), math.pi * torch.rand(1)
    x = torch.rand(2 * n, 1) * 10 - 5
    y = amp * torch.sin(x + phase)
    return x[:n], y[:n], x[n:], y[n:]


def adapt(fast, x, y, steps):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
        fast = {k: w - inner_lr * g for (k, w), g in zip(fast.items(), grads)}
    return fast


history = []
for it in range(30):
    meta_opt.zero_grad()
    batch_losses = []
    for _ in range(4):
        xs, ys, xq, yq = task()
        fast = adapt(dict(net.named_parameters()), xs, ys, steps=2)
        batch_losses.append(F.mse_loss(functional_call(net, fast, (xq,)), yq))
    meta_loss = torch.stack(batch_losses).mean()
    meta_loss.backward()
    meta_opt.step()
    history.append(meta_loss.detach())
    if it % 10 == 0:
        print(f"{it} meta loss {meta_loss.item():.3f} inner lr {inner_lr.item():.3f}")
print("mean of the last ten", torch.stack(history[-10:]).mean().item())
