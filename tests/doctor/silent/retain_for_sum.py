"""The norms of each loss first, then the sum goes back through the same graph."""
import torch
import torch.nn as nn
body, one, two = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opt = torch.optim.Adam([*body.parameters(), *one.parameters(), *two.parameters()])
for step in range(5):
    hidden = body(torch.randn(6, 4)).tanh()
    losses = [one(hidden).pow(2).mean(), two(hidden).abs().mean()]
    norms = []
    for loss in losses:
        opt.zero_grad()
        loss.backward(retain_graph=True)
        norms.append(body.weight.grad.norm().item())
    opt.zero_grad()
    sum(loss / norm for loss, norm in zip(losses, norms)).backward()
    opt.step()
