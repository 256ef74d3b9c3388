import itertools

import torch
import torch.nn as nn


class MultiTaskNet(nn.Module):
    def __init__(self, d=8, width=32, tasks=3):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in range(tasks))

    def forward(self, x):
        z = self.shared(x)
        return [h(z) for h in self.heads]


def flatten(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def project_conflicts(vectors):
    out = [v.clone() for v in vectors]
    for i, j in itertools.permutations(range(len(vectors)), 2):
        dot = torch.dot(out[i], vectors[j])
        if dot < 0:
            out[i] = out[i] - dot / vectors[j].pow(2).sum() * vectors[j]
    return torch.stack(out).sum(0)


def pcgrad_step(net, losses, opt):
    shared = list(net.shared.parameters())
    opt.zero_grad()
    vectors = []
    for head, loss in zip(net.heads, losses):
        grads = torch.autograd.grad(loss, shared + list(head.parameters()))
        vectors.append(flatten(grads[: len(shared)]))
        for p, g in zip(head.parameters(), grads[len(shared):]):
            p.grad = g
    merged, offset = project_conflicts(vectors), 0
    for p in shared:
        p.grad = merged[offset:offset + p.numel()].view_as(p)
        offset += p.numel()
    opt.step()


torch.manual_seed(6)
net = MultiTaskNet()
opt = torch.optim.SGD(net.parameters(), lr=0.02)
w = torch.randn(8, 3)
for it in range(80):
    x = torch.randn(64, 8)
    y = torch.tanh(x @ w)
    outs = net(x)
    losses = [(o.squeeze(1) - y[:, k]).pow(2).mean() for k, o in enumerate(outs)]
    pcgrad_step(net, losses, opt)
print([round(l.item(), 3) for l in losses])
