import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=16, tags=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * dim, tags)

    def forward(self, words):
        h, _ = self.lstm(self.emb(words))
        return self.tag(h)


class Monitor:
    """Logs how strongly the loss reacts to each group of weights."""

    def __init__(self, model, every=5):
        self.model = model
        self.every = every
        self.rows = []

    def look(self, step, loss):
        if step % self.every:
            return
        names, params = zip(*self.model.named_parameters())
        grads = torch.autograd.grad(loss, params)
        self.rows.append({n: g.norm().item() for n, g in zip(names, grads)})


words = torch.randint(0, 50, (32, 12))
tags = words % 5
model = Tagger()
monitor = Monitor(model)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for step in range(20):
    scores = model(words)
    loss = F.cross_entropy(scores.flatten(0, 1), tags.flatten())
    monitor.look(step, loss)
    opt.zero_grad()
    loss.backward()
    opt.step()

print("final loss", loss.item())
print("embedding sensitivity", [round(r["emb.weight"], 4) for r in monitor.rows])
