import torch
import torch.nn as nn
slow = nn.Linear(3, 1)
opt = torch.optim.Adam(slow.parameters())
for step in range(4):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    weights = list(slow.parameters())
    loss = (x @ weights[0].t() + weights[1] - y).pow(2).mean()
    grads = torch.autograd.grad(loss, weights, create_graph=True)
    weights = [nn.Parameter(w - 0.1 * g) for w, g in zip(weights, grads)]  # broken-graph: keep-graph
    opt.zero_grad()
    (x @ weights[0].t() + weights[1] - y).pow(2).mean().backward()
    opt.step()
