"""Curriculum learning: harder sentences are drawn more often as training goes on."""
import torch
import torch.nn.functional as F
from torch import nn


class Curriculum:
    def __init__(self, count, temperature=1.0):
        self.difficulty = torch.full((count,), 1.0)
        self.temperature = temperature

    def draw(self, n, progress):
        sharp = progress / self.temperature
        weights = torch.softmax(sharp * self.difficulty, 0)
        return torch.multinomial(weights, n)

    def learn(self, index, losses):
        self.difficulty[index] = losses.detach()

    def hardest(self, n=5):
        return self.difficulty.topk(n).indices.tolist()


class Sentiment(nn.Module):
    def __init__(self, vocab=60, width=12):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, 2)

    def forward(self, tokens):
        return self.out(self.gru(self.words(tokens))[1][-1])


def train(tokens, labels, steps=14, batch=8):
    model = Sentiment()
    curriculum = Curriculum(len(tokens))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        index = curriculum.draw(batch, progress=step / steps)
        losses = F.cross_entropy(model(tokens[index]), labels[index], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        curriculum.learn(index, losses)
    return curriculum


if __name__ == "__main__":
    torch.manual_seed(10)
    tokens = torch.randint(0, 60, (32, 6))
    labels = (tokens.sum(1) > 180).long()
    print(train(tokens, labels).hardest())
