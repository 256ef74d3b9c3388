import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import deque

torch.manual_seed(12)
VOCAB, SEG, DIM = 10, 8, 24


class MemoryLayer(nn.Module):
    """Self attention over the current segment plus a few remembered ones."""

    def __init__(self, dim, n_mem=2):
        super().__init__()
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mem = deque(maxlen=n_mem)

    def forget(self):
        self.mem.clear()

    def forward(self, h):
        ctx = torch.cat([*self.mem, h], dim=1)
        k, v = self.kv(ctx).chunk(2, -1)
        att = torch.einsum("btd,bsd->bts", self.q(h), k) / DIM ** 0.5
        t, s = h.size(1), ctx.size(1)
        mask = torch.ones(t, s, dtype=torch.bool).triu(s - t + 1)
        att = att.masked_fill(mask, float("-inf")).softmax(-1)
        out = self.ln1(h + torch.einsum("bts,bsd->btd", att, v))
        self.mem.append(h)
        return self.ln2(out + self.ff(out))


class XL(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.randn(SEG, DIM) * 0.1)
        self.layers = nn.ModuleList(MemoryLayer(DIM) for _ in range(layers))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, idx):
        h = self.emb(idx) + self.pos
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


model = XL()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for doc in range(12):
    for layer in model.layers:
        layer.forget()
    period = torch.randint(0, VOCAB, (8, 5))
    stream = period.repeat(1, 9)
    total, n_seg = 0.0, 0
    for s in range(0, stream.size(1) - SEG - 1, SEG):
        x, y = stream[:, s:s + SEG], stream[:, s + 1:s + SEG + 1]
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        total, n_seg = total + loss.item(), n_seg + 1
    if doc % 3 == 0:
        print(f"doc {doc} loss {total / n_seg:.3f}")
