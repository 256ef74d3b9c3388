"""Small character model that reads one long text in order, window by window."""
import torch
from torch import nn

torch.manual_seed(11)
torch.set_num_threads(1)

text = "the quick brown fox jumps over the lazy dog and then sleeps in the sun . " * 12
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([index[c] for c in text])


class VerseModel(nn.Module):
    def __init__(self, vocab, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)
        self.state = None

    def forward(self, tokens):
        emb = self.embed(tokens)
        hidden, self.state = self.lstm(emb, self.state)
        return self.out(hidden)

    def reset(self):
        self.state = None


model = VerseModel(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()

rows = 4
usable = (len(ids) - 1) // rows * rows
inputs = ids[:usable].view(rows, -1)
labels = ids[1:usable + 1].view(rows, -1)
window = 24

for epoch in range(4):
    model.reset()
    total, count = 0.0, 0
    for start in range(0, inputs.size(1) - window, window):
        xb = inputs[:, start:start + window]
        yb = labels[:, start:start + window]
        logits = model(xb)
        loss = criterion(logits.reshape(-1, len(chars)), yb.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        count += 1
    print(f"epoch {epoch}: {total / count:.3f}")
