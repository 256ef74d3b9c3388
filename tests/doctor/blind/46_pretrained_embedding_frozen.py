import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(78)
VOCAB, DIM, PAD = 40, 12, 0


def fake_glove():
    """Pretrained vectors: neighbours in the vocabulary are similar."""
    base = torch.randn(VOCAB, DIM)
    vec = 0.7 * base + 0.3 * base.roll(1, 0)
    vec[PAD] = 0.0
    return vec


class BagOfWords(nn.Module):
    def __init__(self, vectors, n_cls=3):
        super().__init__()
        # start from GloVe, fine-tuned together with the rest
        self.emb = nn.Embedding.from_pretrained(vectors, padding_idx=PAD)
        self.att = nn.Linear(DIM, 1)
        self.cls = nn.Linear(DIM, n_cls)

    def forward(self, idx):
        e = self.emb(idx)
        a = self.att(e).squeeze(-1).masked_fill(idx == PAD, float("-inf")).softmax(1)
        return self.cls((a[..., None] * e).sum(1))


sentiment = torch.randint(-1, 2, (VOCAB,))


def sentences(n=64, t=9):
    idx = torch.randint(1, VOCAB, (n, t))
    length = torch.randint(4, t + 1, (n, 1))
    idx = torch.where(torch.arange(t) < length, idx, torch.zeros_like(idx))
    score = torch.where(idx == PAD, 0, sentiment[idx]).sum(1)
    return idx, torch.sign(score).long() + 1


model = BagOfWords(fake_glove())
decay = [p for n, p in model.named_parameters() if p.dim() > 1]
plain = [p for n, p in model.named_parameters() if p.dim() <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 1e-3}, {"params": plain, "weight_decay": 0.0}], lr=1e-2)
val_x, val_y = sentences(500)
for step in range(200):
    x, y = sentences()
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        with torch.no_grad():
            acc = (model(val_x).argmax(1) == val_y).float().mean().item()
        print(f"step {step} loss {loss.item():.3f} val acc {acc:.3f}")
