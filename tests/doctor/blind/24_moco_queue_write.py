import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)


class MoCo(nn.Module):
    def __init__(self, encoder, dim=16, queue_size=128, m=0.95, temp=0.2):
        super().__init__()
        self.m, self.temp, self.size = m, temp, queue_size
        self.enc_q = encoder
        self.enc_k = copy.deepcopy(encoder)
        for p in self.enc_k.parameters():
            p.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(queue_size, dim), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def momentum_update(self):
        for pq, pk in zip(self.enc_q.parameters(), self.enc_k.parameters()):
            pk.mul_(self.m).add_(pq, alpha=1 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        n = keys.size(0)
        self.queue[self.ptr:self.ptr + n] = keys
        self.ptr = (self.ptr + n) % self.size

    def forward(self, view_q, view_k):
        q = F.normalize(self.enc_q(view_q), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.enc_k(view_k), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.t()
        logits = torch.cat([pos, neg], 1) / self.temp
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


def augment(x):
    return x + 0.1 * torch.randn_like(x)


encoder = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 16))
model = MoCo(encoder)
opt = torch.optim.SGD(model.enc_q.parameters(), lr=0.1, momentum=0.9)
protos = torch.randn(200, 12)
for step in range(120):
    x = protos[torch.randint(0, 200, (32,))]
    loss = model(augment(x), augment(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f} ptr {model.ptr}")
