"""Meta-SGD on sine regression: the initial weights and one learning rate per weight are meta-learned."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


def sample_task(k=10):
    amp = 0.5 + 4 * torch.rand(1)
    phase = math.pi * torch.rand(1)
    xs, xq = 10 * torch.rand(k, 1) - 5, 10 * torch.rand(k, 1) - 5
    return (xs, amp * torch.sin(xs + phase)), (xq, amp * torch.sin(xq + phase))


net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
inner_lrs = nn.ParameterDict(
    {name.replace(".", "_"): nn.Parameter(torch.full_like(p, 0.01)) for name, p in net.named_parameters()}
)
meta_opt = torch.optim.Adam(list(net.parameters()) + list(inner_lrs.parameters()), lr=1e-3)


def adapt(support):
    xs, ys = support
    names, params = zip(*net.named_parameters())
    loss = F.mse_loss(net(xs), ys)
    grads = torch.autograd.grad(loss, params, create_graph=True)
    return {n: p - inner_lrs[n.replace(".", "_")] * g for n, p, g in zip(names, params, grads)}


def query_loss(fast, query):
    xq, yq = query
    net.load_state_dict(fast)
    return F.mse_loss(net(xq), yq)


history = []
for it in range(80):
    start = copy.deepcopy(net.state_dict())
    meta_opt.zero_grad()
    total = 0.0
    for _ in range(4):
        support, query = sample_task()
        fast = adapt(support)
        loss = query_loss(fast, query) / 4
        loss.backward()
        total += loss.item()
        net.load_state_dict(start)
    meta_opt.step()
    history.append(total)
    if it % 20 == 0:
        print(f"iteration {it}: query loss {total:.3f}")

print("mean of last ten:", sum(history[-10:]) / 10)
