"""Character-level transformer on a small repeated text."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(34)

TEXT = "the quick brown fox jumps over the lazy dog and runs away. " * 8
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in TEXT])


class CharModel(nn.Module):
    def __init__(self, vocab, d=32, ctx=24):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.zeros(ctx, d))
        self.block = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, x):
        n = x.shape[1]
        mask = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        h = self.block(self.tok(x) + self.pos[:n], src_mask=mask)
        return self.head(h)


def get_batch(bs=16, ctx=24):
    start = torch.randint(0, len(ids) - ctx - 1, (bs,))
    x = torch.stack([ids[s:s + ctx] for s in start])
    y = torch.stack([ids[s + 1:s + ctx + 1] for s in start])
    return x, y


class Trainer:
    def __init__(self, model, lr=0.3):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def training_step(self, batch):
        x, y = batch
        logits = self.model(x)
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())

    def fit(self, steps):
        for step in range(steps):
            loss = self.training_step(get_batch())
            loss.backward()
            self.optimizer.step()
            if step % 25 == 0 or step == steps - 1:
                norm = torch.stack([p.grad.norm() for p in self.model.parameters()]).norm()
                print(f"step {step} loss {loss.item():.4f} grad {norm.item():.3f}")


Trainer(CharModel(len(chars))).fit(90)
