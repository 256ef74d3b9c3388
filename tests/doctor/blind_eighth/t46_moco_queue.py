"""Momentum contrast: key encoder by EMA, negatives from a ring buffer."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)


class MoCo(nn.Module):
    def __init__(self, n_in=16, dim=16, queue=128, m=0.95, tau=0.2):
        super().__init__()
        self.q_enc = nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, dim))
        self.k_enc = copy.deepcopy(self.q_enc)
        for p in self.k_enc.parameters():
            p.requires_grad = False
        self.m, self.tau = m, tau
        self.register_buffer("queue", F.normalize(torch.randn(queue, dim), dim=1))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def momentum_update(self):
        for q, k in zip(self.q_enc.parameters(), self.k_enc.parameters()):
            k.data.mul_(self.m).add_(q.data, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        start = int(self.ptr)
        self.queue[start:start + len(keys)] = keys
        self.ptr[0] = (start + len(keys)) % len(self.queue)

    def forward(self, a, b):
        q = F.normalize(self.q_enc(a), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.k_enc(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().detach().t()
        logits = torch.cat([pos, neg], dim=1) / self.tau
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


data = torch.randn(512, 16)
moco = MoCo()
opt = torch.optim.SGD(moco.q_enc.parameters(), lr=0.1, momentum=0.9)
for epoch in range(6):
    for idx in torch.randperm(512).split(32):
        xb = data[idx]
        loss = moco(xb + 0.1 * torch.randn_like(xb), xb + 0.1 * torch.randn_like(xb))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
