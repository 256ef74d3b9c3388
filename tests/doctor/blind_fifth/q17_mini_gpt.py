import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
torch.set_num_threads(1)
VOCAB, BLOCK, DIM, HEADS = 12, 16, 32, 4


class CausalAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.register_buffer("tril", torch.tril(torch.ones(BLOCK, BLOCK)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split(DIM, dim=2)
        q, k, v = (t.view(B, T, HEADS, C // HEADS).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(C // HEADS)
        att = F.softmax(att, dim=-1)
        att *= self.tril[:T, :T]
        att = att / att.sum(-1, keepdim=True)
        y = (att @ v).transpose(1, 2).reshape(B, T, C)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = CausalAttention()
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, n_layer=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, DIM), nn.Embedding(BLOCK, DIM)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        logits = self.head(self.blocks(x))
        return logits, F.cross_entropy(logits.view(-1, VOCAB), targets.reshape(-1))


def get_batch(n=16):
    start = torch.randint(0, VOCAB, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    seq = (start + step * torch.arange(BLOCK + 1)) % VOCAB
    return seq[:, :-1], seq[:, 1:]


gpt = GPT()
optimizer = torch.optim.AdamW(gpt.parameters(), lr=3e-3)
for it in range(120):
    x, y = get_batch()
    _, loss = gpt(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 40 == 0 or it == 119:
        print(f"iter {it} loss {loss.item():.4f}")
