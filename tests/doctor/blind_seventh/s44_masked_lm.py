"""Masked language model with tied weights and several in-place steps in the forward pass."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x, pad):
        scores = self.q(x) @ self.k(x).transpose(1, 2)
        scores /= math.sqrt(x.size(-1))
        scores.masked_fill_(pad[:, None, :], float("-inf"))
        return F.softmax(scores, dim=-1) @ self.v(x)


class MLM(nn.Module):
    def __init__(self, vocab=30, dim=24, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.register_buffer("pos", torch.randn(length, dim) * 0.1)
        self.attn = Attention(dim)
        self.norm = nn.LayerNorm(dim)
        self.act = nn.ReLU(inplace=True)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, ids, pad):
        x = self.tok(ids)
        x += self.pos
        x = x + self.attn(x, pad)
        h = self.down(self.act(self.up(self.norm(x))))
        h += x
        return self.head(h)


MASK, PAD = 1, 0


def batch(n=32, t=10):
    ids = torch.randint(2, 30, (n, 1)).repeat(1, t)
    lengths = torch.randint(5, t + 1, (n,))
    pad = torch.arange(t)[None] >= lengths[:, None]
    ids[pad] = PAD
    labels = ids.clone()
    chosen = (torch.rand(n, t) < 0.3) & ~pad
    chosen[:, 0] = True
    labels[~chosen] = -100
    ids[chosen] = MASK
    return ids, pad, labels


torch.manual_seed(0)
model = MLM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(100):
    ids, pad, labels = batch()
    loss = F.cross_entropy(model(ids, pad).flatten(0, 1), labels.flatten(), ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.3f}")
