import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = "<pad> the a film plot was is not very good bad dull bright moving".split()


class SentimentCNN(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.embedding = nn.Embedding(len(VOCAB), dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 12, 3, padding=1)
        self.out = nn.Linear(12, 2)

    def embed(self, tokens):
        return self.embedding(tokens)

    def classify(self, embedded):
        h = F.relu(self.conv(embedded.transpose(1, 2)))
        return self.out(h.amax(-1))

    def forward(self, tokens):
        return self.classify(self.embed(tokens))


def reviews(n, gen):
    tokens = torch.randint(1, len(VOCAB), (n, 6), generator=gen)
    good = torch.isin(tokens, torch.tensor([9, 12, 13])).sum(1)
    bad = torch.isin(tokens, torch.tensor([10, 11])).sum(1)
    return tokens, (good > bad).long()


def importance(model, tokens):
    """Gradient times input for every token of a sentence."""
    model.zero_grad()
    embedded = model.embed(tokens)
    scores = model.classify(embedded)
    scores.max(-1).values.sum().backward()
    grad = embedded.grad
    if grad is None:
        return torch.zeros(tokens.shape)
    return (grad * embedded).sum(-1).abs().detach()


torch.manual_seed(0)
gen = torch.Generator().manual_seed(4)
model = SentimentCNN()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(12):
    tokens, labels = reviews(32, gen)
    loss = F.cross_entropy(model(tokens), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()

tokens, labels = reviews(2, gen)
weights = importance(model, tokens)
for sentence, row in zip(tokens.tolist(), weights.tolist()):
    print(" ".join(f"{VOCAB[t]}({w:.2f})" for t, w in zip(sentence, row)))
