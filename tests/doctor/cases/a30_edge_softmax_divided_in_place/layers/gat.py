import torch
import torch.nn as nn
import torch.nn.functional as F

from layers.scatter import segment_softmax


class GraphAttention(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.lin = nn.Linear(in_dim, out_dim, bias=False)
        self.score = nn.Linear(2 * out_dim, 1)

    def forward(self, x, edges):
        h = self.lin(x)
        src, dst = edges
        raw = F.leaky_relu(self.score(torch.cat([h[src], h[dst]], dim=1)).squeeze(1), 0.2)
        alpha = segment_softmax(raw, dst, len(x))
        return h + torch.zeros_like(h).index_add(0, dst, alpha.unsqueeze(1) * h[src])
