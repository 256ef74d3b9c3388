import torch
import torch.nn as nn
import torch.nn.functional as F

from memory import NodeMemory


class LinkPredictor(nn.Module):
    def __init__(self, nodes, dim):
        super().__init__()
        self.memory = NodeMemory(nodes, dim)
        self.static = nn.Embedding(nodes, dim)
        self.score = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def embed(self, index):
        return self.static(index) + self.memory.read(index)

    def loss(self, src, dst, label, when):
        self.memory.table = self.memory.table.detach()
        self.memory.write(src, self.embed(dst), when)
        pair = torch.cat([self.embed(src), self.embed(dst)], dim=1)
        return F.binary_cross_entropy_with_logits(self.score(pair).squeeze(1), label)
