"""PCGrad: project conflicting task gradients, then write them into .grad by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)

trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])
shared = list(trunk.parameters())
opt = torch.optim.Adam([*shared, *heads.parameters()], lr=5e-3)

x = torch.randn(200, 6)
targets = [x[:, :1] + x[:, 1:2], -x[:, :1] + 0.5 * x[:, 2:3] ** 2]


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def project(ga, gb):
    dot = ga @ gb
    if dot < 0:
        ga = ga - dot / gb.pow(2).sum() * gb
    return ga


conflicts = 0
for step in range(80):
    opt.zero_grad()
    h = trunk(x)
    losses = [F.mse_loss(head(h), t) for head, t in zip(heads, targets)]
    task_grads = [flat(torch.autograd.grad(l, shared, retain_graph=True)) for l in losses]
    conflicts += int(task_grads[0] @ task_grads[1] < 0)

    # ordinary gradients for the heads only
    sum(losses).backward(inputs=list(heads.parameters()))

    merged = project(*task_grads) + project(task_grads[1], task_grads[0])
    offset = 0
    for p in shared:
        n = p.numel()
        p.grad = merged[offset:offset + n].view_as(p).clone()
        offset += n
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} losses {[round(l.item(), 4) for l in losses]} conflicts {conflicts}")
