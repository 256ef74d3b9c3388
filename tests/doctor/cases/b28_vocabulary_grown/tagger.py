import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words, tags, dim=12):
        super().__init__()
        self.embedding = nn.Embedding(words, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    @property
    def vocabulary(self):
        return self.embedding.num_embeddings

    def grow(self, words):
        old = self.embedding.weight.data
        new = torch.randn(words - len(old), old.shape[1])
        self.embedding.weight = nn.Parameter(torch.cat([old, new]))
        self.embedding.num_embeddings = words

    def forward(self, words):
        states, _ = self.rnn(self.embedding(words))
        return self.out(states)
