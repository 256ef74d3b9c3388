import torch
import torch.nn as nn
import torch.nn.functional as F
from attention import Block

torch.manual_seed(0)
VOCAB, T, PAD = 12, 10, 0


class TinyLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Parameter(0.02 * torch.randn(T, dim))
        self.blocks = nn.ModuleList([Block(dim, 4) for _ in range(2)])
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, idx):
        pad = idx == PAD
        x = self.tok(idx) + self.pos[: idx.size(1)]
        for blk in self.blocks:
            x = blk(x, pad)
        return self.head(x)


def get_batch(n=32):
    start = torch.randint(1, VOCAB, (n, 1))
    seq = (start - 1 + torch.arange(T + 1)) % (VOCAB - 1) + 1
    length = torch.randint(4, T + 2, (n, 1))
    return torch.where(torch.arange(T + 1) < length, seq, torch.zeros_like(seq))


model = TinyLM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(60):
    seq = get_batch()
    logits = model(seq[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), seq[:, 1:].reshape(-1), ignore_index=PAD)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        w = model.blocks[0].attn.last_weights
        print(f"step {step} loss {loss.item():.3f} max attention {w.max().item():.2f}")
