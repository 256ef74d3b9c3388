import torch
import torch.nn as nn
body = nn.Linear(4, 8)
heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
shared = list(body.parameters())
opt = torch.optim.SGD([*shared, *heads.parameters()], lr=0.1)
def gradients_of(losses):
    found = []
    for loss in losses:
        opt.zero_grad()
        loss.backward(retain_graph=True)  # needless-retain: drop-retain
        found.append([p.grad.clone() for p in shared])
    return found
for step in range(4):
    hidden = body(torch.randn(6, 4)).tanh()
    losses = [head(hidden).pow(2).mean() for head in heads]
    each = gradients_of(losses)
    for p, *parts in zip(shared, *each):
        p.grad = sum(parts) / len(parts)
    opt.step()
