"""Gradient surgery (PCGrad) between three regression tasks that share a trunk."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def unflat(vec, like):
    out, i = [], 0
    for p in like:
        out.append(vec[i:i + p.numel()].view_as(p))
        i += p.numel()
    return out


def project(grads):
    mixed = []
    for i, g in enumerate(grads):
        g = g.clone()
        for j in torch.randperm(len(grads)).tolist():
            if j == i:
                continue
            dot = torch.dot(g, grads[j])
            if dot < 0:
                g -= dot / grads[j].dot(grads[j]) * grads[j]
        mixed.append(g)
    return torch.stack(mixed).mean(0)


torch.manual_seed(2)
trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
heads = nn.ModuleList(nn.Linear(16, 1) for _ in range(3))
shared = list(trunk.parameters())
opt = torch.optim.SGD([*shared, *heads.parameters()], lr=0.05, momentum=0.9)
truth = torch.randn(6, 3)

for step in range(100):
    x = torch.randn(64, 6)
    y = torch.tanh(x @ truth)
    feats = trunk(x)
    losses = [F.mse_loss(head(feats).squeeze(1), y[:, i]) for i, head in enumerate(heads)]

    opt.zero_grad()
    per_task = []
    for loss in losses:
        grads = torch.autograd.grad(loss, shared, retain_graph=True)
        per_task.append(flat(grads))
    torch.stack(losses).sum().backward(inputs=list(heads.parameters()))
    for p, g in zip(shared, unflat(project(per_task), shared)):
        p.grad = g
    opt.step()

    if step % 25 == 0:
        print(step, [round(l.item(), 3) for l in losses])
