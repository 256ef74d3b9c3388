"""LoRA fine-tuning of a frozen toy transformer with activation checkpointing."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(12)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        return x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class TinyLM(nn.Module):
    def __init__(self, vocab=50, d=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.lm_head = nn.Linear(d, vocab)
        self.use_checkpoint = False

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            if self.use_checkpoint and self.training:
                h = checkpoint(block, h, use_reentrant=True)
            else:
                h = block(h)
        return self.lm_head(h)


def add_lora(model):
    for p in model.parameters():
        p.requires_grad_(False)
    for block in model.blocks:
        block.qkv = LoRALinear(block.qkv)
        block.proj = LoRALinear(block.proj)
    return [p for p in model.parameters() if p.requires_grad]


model = TinyLM()
trainable = add_lora(model)
model.use_checkpoint = True
print("trainable tensors:", len(trainable))
opt = torch.optim.AdamW(trainable, lr=1e-2)
tokens = torch.randint(0, 50, (8, 17))

model.train()
for step in range(20):
    logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 50), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, round(loss.item(), 4))
