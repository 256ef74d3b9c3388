import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(110)
V, D, T = 8, 24, 12


class CachedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.cache = None

    def forward(self, x, use_cache=False):
        q, k, v = self.qkv(x).chunk(3, -1)
        if use_cache:
            if self.cache is not None:
                k, v = torch.cat([self.cache[0], k], 1), torch.cat([self.cache[1], v], 1)
            self.cache = (k, v)
        att = q @ k.transpose(1, 2) / D ** 0.5
        t, s = q.size(1), k.size(1)
        att = att.masked_fill(torch.ones(t, s, dtype=torch.bool).triu(s - t + 1), float("-inf"))
        return self.out(att.softmax(-1) @ v)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.pos = nn.Embedding(V, D), nn.Embedding(T, D)
        self.attn, self.norm, self.head = CachedAttention(), nn.LayerNorm(D), nn.Linear(D, V)

    def forward(self, idx, start=0, use_cache=False):
        h = self.emb(idx) + self.pos(torch.arange(start, start + idx.size(1)))
        return self.head(self.norm(h + self.attn(h, use_cache)))

    @torch.no_grad()
    def generate(self, first, n):
        self.attn.cache = None
        out = [first]
        for t in range(n):
            out.append(self(out[-1], start=t, use_cache=True)[:, -1:].argmax(-1))
        self.attn.cache = None
        return torch.cat(out, 1)


model = LM()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(120):
    seq = (torch.randint(0, V, (32, 1)) + torch.arange(T + 1)) % V
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0:
        print(f"{step} loss {loss.item():.3f}", model.generate(torch.tensor([[3]]), 6)[0].tolist())
