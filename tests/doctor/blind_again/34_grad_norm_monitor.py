import collections

import torch
import torch.nn as nn

History = collections.namedtuple("History", "loss norm")


class TinyTransformer(nn.Module):
    def __init__(self, vocab=12, dim=16, heads=2, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        self.block = nn.TransformerEncoderLayer(dim, heads, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.block(self.tok(ids) + self.pos))


def global_norm(loss, params):
    grads = torch.autograd.grad(loss, params)
    return torch.sqrt(sum(g.pow(2).sum() for g in grads))


def copy_task(n, length=10, vocab=12):
    ids = torch.randint(0, vocab, (n, length))
    return ids, ids.flip(1)


def main(steps=25):
    torch.manual_seed(30)
    model = TinyTransformer()
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=3e-3)
    trace = []
    for step in range(steps):
        ids, target = copy_task(16)
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), target)
        norm = global_norm(loss, params)
        opt.zero_grad()
        loss.backward()
        opt.step()
        trace.append(History(loss.item(), norm.item()))
    print(f"loss {trace[0].loss:.3f} -> {trace[-1].loss:.3f}; norm {trace[-1].norm:.3f}")


main()
