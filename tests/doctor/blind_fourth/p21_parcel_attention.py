import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
torch.set_num_threads(1)


class MaskedSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        attn = scores.softmax(dim=-1)
        # padded positions must not be looked at
        attn.masked_fill_(pad[:, None, None, :], 0.0)
        y = (attn @ v).transpose(1, 2).reshape(b, t, d)
        return self.proj(y)


class ParcelClassifier(nn.Module):
    def __init__(self, vocab=20, dim=16, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.attn = MaskedSelfAttention(dim, heads=2)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, tokens):
        pad = tokens.eq(0)
        x = self.emb(tokens)
        x = self.norm(x + self.attn(x, pad))
        keep = (~pad).unsqueeze(-1).float()
        return self.cls((x * keep).sum(1) / keep.sum(1))


tokens = torch.randint(1, 20, (192, 10))
lengths = torch.randint(4, 11, (192,))
tokens[torch.arange(10)[None] >= lengths[:, None]] = 0
labels = (tokens.gt(13).sum(1)).clamp(max=2)

net = ParcelClassifier()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for it in range(60):
    opt.zero_grad()
    logits = net(tokens)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    opt.step()
    if it % 20 == 19:
        acc = (logits.argmax(1) == labels).float().mean()
        print(it + 1, f"{loss.item():.3f}", f"{acc.item():.2f}")
