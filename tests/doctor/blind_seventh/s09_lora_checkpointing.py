"""LoRA fine-tuning of a small frozen transformer with activation checkpointing."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class TinyLM(nn.Module):
    def __init__(self, vocab=40, dim=24, depth=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)
        self.grad_checkpointing = False

    def forward(self, ids):
        x = self.emb(ids)
        for blk in self.blocks:
            if self.grad_checkpointing and self.training:
                x = checkpoint(blk, x, use_reentrant=True)
            else:
                x = blk(x)
        return self.head(x)


def add_lora(model):
    for p in model.parameters():
        p.requires_grad_(False)
    for blk in model.blocks:
        blk.up = LoRALinear(blk.up)
        blk.down = LoRALinear(blk.down)
    return model


def main():
    torch.manual_seed(0)
    model = add_lora(TinyLM())
    model.grad_checkpointing = True
    model.train()
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=5e-3)
    for step in range(20):
        ids = torch.randint(0, 40, (8, 10))
        logits = model(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), (ids.flatten() + 1) % 40)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 0:
            print(step, loss.item())
    return model


if __name__ == "__main__":
    main()
