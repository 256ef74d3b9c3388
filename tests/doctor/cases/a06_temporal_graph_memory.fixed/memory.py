import torch
import torch.nn as nn


class NodeMemory(nn.Module):
    def __init__(self, nodes, dim):
        super().__init__()
        self.nodes, self.dim = nodes, dim
        self.cell = nn.GRUCell(dim + 1, dim)
        self.reset()

    def reset(self):
        self.table = torch.zeros(self.nodes, self.dim)

    def read(self, index):
        return self.table[index]

    def write(self, index, message, when):
        new = self.cell(torch.cat([message, when], dim=1), self.read(index))
        self.table = self.table.index_copy(0, index, new)
