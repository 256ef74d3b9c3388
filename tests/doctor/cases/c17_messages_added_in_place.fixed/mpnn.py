import torch
from torch import nn


class MessagePassing(nn.Module):
    def __init__(self, node_dim, edge_dim, rounds):
        super().__init__()
        self.embed = nn.Linear(node_dim, 16)
        self.edge_gate = nn.Linear(edge_dim, 16)
        self.message = nn.Linear(16, 16)
        self.readout = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 1))
        self.rounds = rounds

    def propagate(self, h, graph):
        gate = torch.sigmoid(self.edge_gate(graph.edge_attr))
        messages = self.message(h)[graph.src] * gate
        return h.index_add(0, graph.dst, messages)

    def forward(self, graph):
        h = self.embed(graph.x)
        for _ in range(self.rounds):
            h = self.propagate(h, graph)
        return self.readout(h).sum()
