import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SelfAttention(nn.Module):
    def __init__(self, d, heads=2):
        super().__init__()
        self.h, self.dk = heads, d // heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, self.dk).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dk)
        attn = F.softmax(scores, dim=-1)
        # no attention on the padding
        attn.masked_fill_(pad[:, None, None, :], 0.0)
        y = (attn @ v).transpose(1, 2).reshape(b, t, d)
        return self.proj(y)


class Classifier(nn.Module):
    def __init__(self, vocab=20, d=32, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.attn = SelfAttention(d)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, classes)

    def forward(self, tokens):
        pad = tokens.eq(0)
        x = self.emb(tokens)
        x = self.norm(x + self.attn(x, pad))
        x = x.masked_fill(pad.unsqueeze(-1), 0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.head(x)


def batch(n=32, t=10):
    tokens = torch.randint(1, 20, (n, t))
    lengths = torch.randint(4, t + 1, (n, 1))
    tokens[torch.arange(t).expand(n, t) >= lengths] = 0
    return tokens, (tokens == 7).any(1).long()


model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    tokens, label = batch()
    loss = F.cross_entropy(model(tokens), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
