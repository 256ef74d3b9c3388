import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

torch.manual_seed(44)
torch.set_num_threads(1)


class TinyTransformer(nn.Module):
    def __init__(self, vocab=10, d=32, length=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(0.02 * torch.randn(length, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(d, vocab)

    def forward(self, x):
        return self.head(self.enc(self.emb(x) + self.pos))


class Trainer:
    def __init__(self, model, accumulate=2, clip=1.0):
        self.model, self.accumulate, self.clip = model, accumulate, clip
        self.opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.scaler = GradScaler("cpu", init_scale=2.0**12)
        self.crit = nn.CrossEntropyLoss()

    def micro(self):
        x = torch.randint(0, 10, (32, 8))
        with autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
        loss = self.crit(logits.float().flatten(0, 1), x.flip(1).flatten()) / self.accumulate
        self.scaler.scale(loss).backward()
        return loss.item()

    def step(self):
        loss = sum(self.micro() for _ in range(self.accumulate))
        self.scaler.unscale_(self.opt)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)
        return loss, norm.item()


trainer = Trainer(TinyTransformer())
for step in range(80):
    loss, norm = trainer.step()
    if step % 20 == 0 or step == 79:
        print(f"step {step} loss {loss:.4f} norm {norm:.3f}")
