import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
torch.set_num_threads(1)
VOCAB, LENGTH, ACCUM = 12, 6, 4


class Reverser(nn.Module):
    """Learns to write a short sequence backwards."""

    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(LENGTH, dim))
        self.block = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, x):
        return self.out(self.block(self.emb(x) + self.pos))


def micro_batch():
    src = torch.randint(0, VOCAB, (16, LENGTH))
    return src, src.flip(1)


model = Reverser()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.2, total_iters=40)

shown = 0.0
for i in range(160):
    src, tgt = micro_batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(src)
    loss = F.cross_entropy(logits.float().flatten(0, 1), tgt.flatten()) / ACCUM
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    shown += loss.item()

    if (i + 1) % ACCUM == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        scheduler.step()
        if (i + 1) % (10 * ACCUM) == 0:
            print(f"update {(i + 1) // ACCUM}: {shown / 10:.4f}")
            shown = 0.0
