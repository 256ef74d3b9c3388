"""Recurrent sequence labelling, mixed precision, clipped gradients."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=24, tags=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def make_batch(n=16, t=10):
    ids = torch.randint(0, 20, (n, t))
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), ids[:, :-1]], 1)
    return ids, (ids + prev) % 3


class Trainer:
    def __init__(self, model, lr=0.3, max_norm=1.0):
        self.model = model
        self.max_norm = max_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu")
        self.losses = []

    def training_step(self, ids, tags):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(ids)
            loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten())
        self.scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.losses.append(loss.item())

    def fit(self, steps):
        for i in range(steps):
            self.training_step(*make_batch())
            if i % 30 == 0:
                print(f"step {i}: {self.losses[-1]:.4f}")


if __name__ == "__main__":
    torch.manual_seed(6)
    trainer = Trainer(Tagger())
    trainer.fit(120)
    print("last losses", sum(trainer.losses[-10:]) / 10)
