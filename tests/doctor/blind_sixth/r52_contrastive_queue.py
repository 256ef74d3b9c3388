"""Momentum contrast: query encoder, key encoder without gradients, queue of negatives."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MoCo(nn.Module):
    def __init__(self, d=12, dim=16, size=256, m=0.98, temperature=0.2):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(d, 48), nn.ReLU(inplace=True), nn.Linear(48, dim))
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, size), dim=0))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))
        self.m, self.t, self.size = m, temperature, size

    @torch.no_grad()
    def momentum_update(self):
        for pq, pk in zip(self.q.parameters(), self.k.parameters()):
            pk.data.mul_(self.m).add_(pq.data, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        i = int(self.ptr)
        self.queue[:, i:i + len(keys)] = keys.t()
        self.ptr.fill_((i + len(keys)) % self.size)

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.k(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().detach()
        logits = torch.cat([pos, neg], 1) / self.t
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


def views(n):
    base = torch.randn(n, 12)
    return base + 0.2 * torch.randn_like(base), base + 0.2 * torch.randn_like(base)


model = MoCo()
optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1, momentum=0.9)
losses = []
for step in range(80):
    loss = model(*views(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    if step % 20 == 0:
        print(f"{step} {loss.item():.3f}")
print("mean of the last twenty", torch.stack(losses[-20:]).mean().item())
