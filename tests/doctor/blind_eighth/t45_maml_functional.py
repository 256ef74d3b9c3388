"""Second-order MAML with functional_call; the inner updates stay in the graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(44)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
inner_lr = nn.Parameter(torch.tensor(0.05))
meta_opt = torch.optim.Adam([*model.parameters(), inner_lr], lr=2e-3)


def sample_task():
    slope, bias = torch.randn(1) * 2, torch.randn(1)

    def draw(n):
        x = torch.rand(n, 1) * 2 - 1
        return x, slope * x + bias
    return draw


def adapt(params, x, y, steps):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - inner_lr * g for (k, p), g in zip(params.items(), grads)}
    return params


for it in range(60):
    meta_opt.zero_grad()
    log = 0.0
    for _ in range(4):
        draw = sample_task()
        fast = adapt(dict(model.named_parameters()), *draw(8), steps=3)
        xq, yq = draw(16)
        query = F.mse_loss(functional_call(model, fast, (xq,)), yq) / 4
        query.backward()          # one graph per task, gradients add up on purpose
        log += query.item()
    meta_opt.step()
    if it % 20 == 19:
        print(f"iter {it + 1} query {log:.4f} inner lr {inner_lr.item():.4f}")
