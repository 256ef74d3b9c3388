import torch
import torch.nn as nn

TEXT = "the quick brown fox jumps over the lazy dog. " * 8
CHARS = sorted(set(TEXT))
INDEX = {c: i for i, c in enumerate(CHARS)}


class CharModel(nn.Module):
    def __init__(self, vocab, hidden=32):
        super().__init__()
        self.hidden_size = hidden
        self.embed = nn.Embedding(vocab, 12)
        self.lstm = nn.LSTM(12, hidden)
        self.decode = nn.Linear(hidden, vocab)

    def init_hidden(self, batch):
        return torch.zeros(1, batch, self.hidden_size), torch.zeros(1, batch, self.hidden_size)

    def forward(self, x, hidden):
        out, hidden = self.lstm(self.embed(x), hidden)
        return self.decode(out), hidden


def repackage(hidden):
    return tuple(h.detach() for h in hidden)


def batchify(text, batch):
    ids = torch.tensor([INDEX[c] for c in text])
    steps = len(ids) // batch
    return ids[: steps * batch].view(batch, steps).t().contiguous()


def train_epoch(model, data, optimizer, bptt=15):
    hidden = model.init_hidden(data.size(1))
    total, windows = 0.0, 0
    for start in range(0, data.size(0) - 1 - bptt, bptt):
        x, y = data[start : start + bptt], data[start + 1 : start + 1 + bptt]
        hidden = repackage(hidden)
        optimizer.zero_grad()
        logits, hidden = model(x, hidden)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total, windows = total + loss.item(), windows + 1
    return total / windows


torch.manual_seed(0)
data = batchify(TEXT, 4)
model = CharModel(len(CHARS))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(5):
    print(f"epoch {epoch}: {train_epoch(model, data, optimizer):.4f}")
