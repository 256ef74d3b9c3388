import random

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = ("the quick brown fox jumps over the lazy dog while the small bird "
        "watches from the old stone wall and sings a quiet song ") * 12


class Vocabulary:
    def __init__(self, text):
        self.itos = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(self.itos)}

    def encode(self, text):
        return torch.tensor([self.stoi[c] for c in text])

    def __len__(self):
        return len(self.itos)


class CharLM(nn.Module):
    def __init__(self, vocab_size, dim=16, hidden=40):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab_size)
        self.memory = None

    def forward(self, tokens):
        feats, self.memory = self.rnn(self.emb(tokens), self.memory)
        return self.out(feats)


def windows(data, rows, length):
    per_row = data.numel() // rows
    grid = data[: per_row * rows].view(rows, per_row)
    for start in range(0, per_row - length - 1, length):
        yield grid[:, start:start + length], grid[:, start + 1:start + length + 1]


def train(epochs=2):
    random.seed(0)
    torch.manual_seed(0)
    vocab = Vocabulary(TEXT)
    data = vocab.encode(TEXT)
    model = CharLM(len(vocab))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.memory = None
        total, count = 0.0, 0
        for x, y in windows(data, rows=4, length=20):
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += loss.item()
            count += 1
        print(f"epoch {epoch}: {total / count:.3f} nats per char")


if __name__ == "__main__":
    train()
