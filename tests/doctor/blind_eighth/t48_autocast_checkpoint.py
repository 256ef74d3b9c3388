"""Adapters in a frozen transformer, bf16 autocast, non-reentrant checkpointing."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(47)


class Adapter(nn.Module):
    def __init__(self, d, r=4):
        super().__init__()
        self.down, self.up = nn.Linear(d, r), nn.Linear(r, d)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(F.relu(self.down(x), inplace=True))


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.core = nn.TransformerEncoderLayer(d, 2, 2 * d, dropout=0.1, batch_first=True)
        self.adapter = Adapter(d)

    def forward(self, x):
        return self.adapter(self.core(x))


class Encoder(nn.Module):
    def __init__(self, vocab=30, d=24, depth=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Layer(d) for _ in range(depth))
        self.cls = nn.Linear(d, 2)

    def forward(self, ids):
        h = self.emb(ids)
        for layer in self.layers:
            h = checkpoint(layer, h, use_reentrant=False)
        return self.cls(h.mean(dim=1))


model = Encoder()
for name, p in model.named_parameters():
    p.requires_grad = "adapter" in name or name.startswith("cls")

opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", enabled=False)
ids = torch.randint(0, 30, (64, 10))
y = (ids[:, :5].sum(1) > ids[:, 5:].sum(1)).long()

for step in range(16):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(ids).float(), y)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], 1.0)
    scaler.step(opt)
    scaler.update()
    if step % 5 == 4:
        print(f"step {step + 1} loss {loss.item():.4f}")
