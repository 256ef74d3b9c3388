import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)

VOCAB, DIM, MAX_NORM = 20, 32, 0.2


class Translator(nn.Module):
    """Maps a sequence to its reversed copy."""

    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.randn(8, DIM) * 0.1)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, src):
        return self.out(self.enc(self.tok(src) + self.pos))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optim = torch.optim.SGD(model.parameters(), lr=0.3)
        self.sched = torch.optim.lr_scheduler.LinearLR(self.optim, 0.1, 1.0, total_iters=20)

    def step(self, src, tgt):
        loss = F.cross_entropy(self.model(src).flatten(0, 1), tgt.flatten())
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.sched.step()
        return loss.item(), float(norm)


trainer = Trainer(Translator())
for it in range(60):
    src = torch.randint(0, VOCAB, (32, 8))
    loss, norm = trainer.step(src, src.flip(1))
    if it % 15 == 0:
        print(f"it {it:3d} loss {loss:.4f} grad norm {norm:.3f}")
