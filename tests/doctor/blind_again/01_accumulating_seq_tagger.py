import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=12, tags=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 24, 3, padding=1)
        self.out = nn.Linear(24, tags)

    def forward(self, ids):
        h = F.relu(self.conv(self.emb(ids).transpose(1, 2))).transpose(1, 2)
        return self.out(h)


def corpus(n, length=12, vocab=20):
    gen = torch.Generator().manual_seed(9)
    ids = torch.randint(0, vocab, (n, length), generator=gen)
    left = torch.roll(ids, 1, 1)
    return ids, ((ids + left) % 3)


class AccumulatingTrainer:
    def __init__(self, model, lr=1.0, micro=8, accumulate=4):
        self.model = model
        self.micro = micro
        self.accumulate = accumulate
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.opt.zero_grad()

    def epoch(self, ids, tags):
        total, n = 0.0, 0
        for i, rows in enumerate(torch.randperm(len(ids)).split(self.micro), 1):
            loss = F.cross_entropy(self.model(ids[rows]).flatten(0, 1), tags[rows].flatten())
            (loss / self.accumulate).backward()
            if i % self.accumulate == 0:
                self.opt.step()
                self.opt.zero_grad()
            total += loss.item() * len(rows)
            n += len(rows)
        return total / n


def main():
    torch.manual_seed(9)
    ids, tags = corpus(56)
    trainer = AccumulatingTrainer(Tagger())
    for epoch in range(20):
        avg = trainer.epoch(ids, tags)
    print("batches per epoch", -(-len(ids) // trainer.micro), "loss", round(avg, 4))


main()
