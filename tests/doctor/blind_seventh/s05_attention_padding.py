"""Sequence classifier with a hand-written attention block; padded keys must get weight zero."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        attn = F.softmax(scores, dim=-1)
        key_pad = pad[:, None, None, :].expand_as(attn)
        attn[key_pad] = 0.0
        out = (attn @ v).transpose(1, 2).reshape(b, t, d)
        return self.proj(out)


class Classifier(nn.Module):
    def __init__(self, vocab=30, dim=16, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.attn = SelfAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        pad = tokens.eq(0)
        x = self.emb(tokens)
        x = self.norm(x + self.attn(x, pad))
        x = x.masked_fill(pad[..., None], 0.0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.head(x)


def batch(n=32, t=12, vocab=30):
    tokens = torch.randint(1, vocab, (n, t))
    lengths = torch.randint(4, t + 1, (n,))
    tokens[torch.arange(t)[None] >= lengths[:, None]] = 0
    labels = (tokens == 5).any(1).long()
    return tokens, labels


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    tokens, labels = batch()
    loss = F.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
