"""Skip-gram with negative sampling, and sparse gradients."""

from collections import Counter
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

CORPUS = (
    """
the king rules the land and the queen rules the land
the king wears a crown and the queen wears a crown
the man walks the dog and the woman walks the dog
the man feeds the cat and the woman feeds the cat
a dog chases a cat and a cat chases a mouse
the queen loves the king and the woman loves the man
"""
    * 4
).split()


class SkipGramDataset(Dataset):
    def __init__(self, tokens, window=2, threshold=3e-2):
        counts = Counter(tokens)
        self.vocab = sorted(counts, key=lambda w: (-counts[w], w))
        self.stoi = {w: i for i, w in enumerate(self.vocab)}
        freq = torch.tensor([counts[w] for w in self.vocab], dtype=torch.float)
        freq /= freq.sum()
        self.noise = freq.pow(0.75) / freq.pow(0.75).sum()
        keep = (freq / threshold).rsqrt().clamp(max=1.0)
        ids = [self.stoi[w] for w in tokens if random.random() < keep[self.stoi[w]].item()]
        self.pairs = [
            (ids[i], ids[j])
            for i in range(len(ids))
            for j in range(max(0, i - window), min(len(ids), i + window + 1))
            if i != j
        ]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, idx):
        return self.pairs[idx]


class SkipGram(nn.Module):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.u = nn.Embedding(vocab_size, dim, sparse=True)
        self.v = nn.Embedding(vocab_size, dim, sparse=True)
        self.u.weight.data.uniform_(-0.5 / dim, 0.5 / dim)
        self.v.weight.data.uniform_(-0.0, 0.0)

    def forward(self, center, context, negatives):
        u = self.u(center)
        positive = F.logsigmoid((u * self.v(context)).sum(dim=1))
        score = torch.bmm(self.v(negatives), u.unsqueeze(2)).squeeze(2)
        negative = F.logsigmoid(-score).sum(dim=1)
        return -(positive + negative).mean()


class BagOfWords(nn.Module):
    """which words stand around a gap? with an EmbeddingBag"""

    def __init__(self, vocab_size, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab_size, dim, mode="mean", sparse=True)
        self.out = nn.Linear(dim, vocab_size)

    def forward(self, words, offsets):
        return self.out(self.bag(words, offsets))


random.seed(0)
torch.manual_seed(0)
dataset = SkipGramDataset(CORPUS)
print(f"{len(dataset.vocab)} words, {len(dataset)} pairs")
model = SkipGram(len(dataset.vocab), 12)
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.02)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / 12)
for epoch in range(6):
    total = 0.0
    for center, context in DataLoader(dataset, batch_size=64, shuffle=True):
        negatives = torch.multinomial(dataset.noise, center.numel() * 4, replacement=True)
        optimizer.zero_grad()
        loss = model(center, context, negatives.view(-1, 4))
        loss.backward()
        assert model.u.weight.grad.is_sparse
        optimizer.step()
        total += loss.item() * center.numel()
    scheduler.step()
    print(f"epoch {epoch}: loss {total / len(dataset):.4f}")
grad = model.u.weight.grad.coalesce()
print("last gradient:", grad.shape, grad.indices().shape, f"{grad.values().norm().item():.4f}")

similarity = F.normalize(model.u.weight.detach()) @ F.normalize(model.u.weight.detach()).T
similarity.fill_diagonal_(-1)
for word in ("king", "man", "dog"):
    values, indices = similarity[dataset.stoi[word]].topk(3)
    print(
        word,
        "~",
        " ".join(f"{dataset.vocab[i]}:{v:.3f}" for v, i in zip(values.tolist(), indices.tolist())),
    )

gaps = BagOfWords(len(dataset.vocab), 12)
sparse, dense = (
    torch.optim.SGD(gaps.bag.parameters(), lr=2.0),
    torch.optim.Adagrad(gaps.out.parameters(), lr=0.2),
)
ids = torch.tensor([dataset.stoi[w] for w in CORPUS[:64]])
words, offsets, targets = [], [], []
for i in range(2, 62):
    offsets.append(len(words))
    words += [ids[i - 2], ids[i - 1], ids[i + 1], ids[i + 2]]
    targets.append(ids[i])
words, offsets, targets = torch.stack(words), torch.tensor(offsets), torch.stack(targets)
for step in range(30):
    sparse.zero_grad(), dense.zero_grad()
    loss = F.cross_entropy(gaps(words, offsets), targets)
    loss.backward()
    sparse.step(), dense.step()
    if step % 10 == 9:
        print("bag of words %d: %.4f" % (step + 1, loss))
