import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalAttention(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.ones(length, length).triu(1).bool())
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls += 1
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2)
        scores /= math.sqrt(q.size(-1))
        scores.masked_fill_(self.mask, float("-inf"))
        return self.out(scores.softmax(-1) @ v)


class Block(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.attn = CausalAttention(dim, length)
        self.ff = nn.Sequential(
            nn.Linear(dim, 2 * dim), nn.Dropout(0.1, inplace=True), nn.ReLU(inplace=True)
        )
        self.down = nn.Linear(2 * dim, dim)
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        x = x + self.attn(x)
        y = self.down(self.ff(x))
        y += x
        return y * self.scale


def positions(length, dim):
    table = torch.empty(length, dim)
    angle = torch.arange(length).float()[:, None] * torch.logspace(0, -2, dim // 2)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()
    return table


torch.manual_seed(0)
LENGTH, DIM = 8, 12
emb, head, block = nn.Embedding(10, DIM), nn.Linear(DIM, 10), Block(DIM, LENGTH)
modules = nn.ModuleList([emb, head, block])
with torch.no_grad():
    emb.weight[0].zero_()
    head.bias.fill_(0.01)
optimizer = torch.optim.Adam(modules.parameters(), lr=5e-3)
pe = positions(LENGTH, DIM)
for step in range(25):
    tokens = (torch.randint(0, 10, (16, 1)) + torch.arange(LENGTH + 1) * 3) % 10
    h = emb(tokens[:, :-1])
    h += pe
    logits = head(block(h))
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        block.scale.clamp_(0.5, 2.0)
    if step % 8 == 0:
        print(step, round(loss.item(), 4))
print("calls", block.attn.calls.item())
