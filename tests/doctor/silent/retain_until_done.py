"""Losses are sent back until the gradient is long enough: nobody knows which one is the last."""
import torch
import torch.nn as nn
body = nn.Linear(4, 8)
heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(4))
opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
for step in range(5):
    hidden = body(torch.randn(6, 4)).tanh()
    losses = [head(hidden).pow(2).mean() for head in heads]
    opt.zero_grad()
    for loss in losses:
        loss.backward(retain_graph=True)
        if body.weight.grad.norm() > 1e-4 and loss is losses[1]:
            break
    opt.step()
