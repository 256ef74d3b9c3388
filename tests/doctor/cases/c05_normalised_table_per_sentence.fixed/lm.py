import torch
import torch.nn as nn
import torch.nn.functional as F


class TiedLanguageModel(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(vocab, dim) * 0.1)
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.cell = nn.GRU(dim, dim)

    def table(self):
        return F.normalize(self.embedding, dim=-1) * self.scale

    def sentence_loss(self, sentence, table):
        states, _ = self.cell(table[sentence[:-1]])
        logits = states @ table.t()
        return F.cross_entropy(logits, sentence[1:])
