import math
from collections import deque

import torch
from torch import nn


class MemoryAttention(nn.Module):
    """Attends over the current segment and the hidden states of the last few segments."""

    def __init__(self, dim, mem_segments=2):
        super().__init__()
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(dim, 2 * dim, bias=False)
        self.out = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.memory = deque(maxlen=mem_segments)

    def forward(self, x):
        context = torch.cat([*self.memory, x], dim=1)
        q = self.q(x)
        k, v = self.kv(context).chunk(2, dim=-1)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.size(-1))
        y = self.norm(x + self.out(scores.softmax(-1) @ v))
        self.memory.append(y.detach())
        return y


class SegmentModel(nn.Module):
    def __init__(self, vocab, dim, layers):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(MemoryAttention(dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

    def reset(self):
        for block in self.blocks:
            block.memory.clear()


def copy_task(generator, batch, length, segment):
    pattern = torch.randint(0, 12, (batch, segment), generator=generator)
    return pattern.repeat(1, length // segment)


torch.manual_seed(0)
gen = torch.Generator().manual_seed(7)
model = SegmentModel(vocab=12, dim=16, layers=2)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)

for step in range(4):
    tokens = copy_task(gen, batch=3, length=24, segment=6)
    model.reset()
    losses = []
    for segment in tokens.split(6, dim=1):
        logits = model(segment[:, :-1])
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), segment[:, 1:])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(step, sum(losses) / len(losses))
