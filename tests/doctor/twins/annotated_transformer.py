"""Clones of one layer, a loss with smoothed targets, accumulation, and a loss computer between."""

import copy
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(0)


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class Attention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.linears = heads, clones(nn.Linear(width, width), 4)
        self.attn = None

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        query, key, value = [
            lin(x).view(n, -1, self.heads, 4).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(4)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        self.attn = scores.softmax(dim=-1)
        x = torch.matmul(self.attn, value).transpose(1, 2).contiguous().view(n, -1, 8)
        return self.linears[-1](x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend, self.source = Attention(), Attention()
        self.feed = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 8))
        self.norms = clones(nn.LayerNorm(8), 3)

    def forward(self, x, memory, mask):
        x = x + self.attend(self.norms[0](x), self.norms[0](x), self.norms[0](x), mask)
        x = x + self.source(self.norms[1](x), memory, memory)
        return x + self.feed(self.norms[2](x))


class LabelSmoothing(nn.Module):
    def __init__(self, size, smoothing=0.1):
        super().__init__()
        self.criterion, self.size = nn.KLDivLoss(reduction="sum"), size
        self.smoothing, self.true_dist = smoothing, None

    def forward(self, x, target):
        true_dist = x.data.clone()
        true_dist.fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.data.unsqueeze(1), 1 - self.smoothing)
        true_dist[:, 0] = 0
        self.true_dist = true_dist
        return self.criterion(x, true_dist.clone().detach())


class SimpleLossCompute:
    def __init__(self, generator, criterion):
        self.generator, self.criterion = generator, criterion

    def __call__(self, x, y, norm):
        x = torch.log_softmax(self.generator(x), dim=-1)
        loss = self.criterion(x.contiguous().view(-1, x.size(-1)), y.contiguous().view(-1)) / norm
        return loss.data * norm, loss


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.generator = nn.Embedding(9, 8), clones(Layer(), 2), nn.Linear(8, 9)

    def forward(self, source, target):
        mask = torch.tril(torch.ones(target.size(1), target.size(1)))
        memory, x = self.embed(source), self.embed(target)
        for layer in self.layers:
            x = layer(x, memory, mask)
        return x


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.9, 0.98), eps=1e-9)
scheduler = LambdaLR(optimizer, lambda s: 8**-0.5 * min(max(s, 1) ** -0.5, max(s, 1) * 20**-1.5))
compute = SimpleLossCompute(model.generator, LabelSmoothing(9))
for epoch in range(2):
    model.train()
    total_tokens, total_loss = 0, 0
    for i in range(12):
        data = torch.randint(1, 9, (4, 6))
        out = model(data, data[:, :-1])
        loss, loss_node = compute(out, data[:, 1:], 20)
        loss_node.backward()
        if i % 2 == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        scheduler.step()
        total_loss += loss
        total_tokens += 20
        del loss, loss_node
    model.eval()
    with torch.no_grad():
        model(data, data[:, :-1])
print(float(total_loss / total_tokens))
