"""Character level language model, stateful LSTM over consecutive chunks."""
import torch
import torch.nn as nn

torch.manual_seed(1)

TEXT = ("the quick brown fox jumps over the lazy dog and then the dog sleeps while "
        "the fox runs back to the forest where the other foxes wait ") * 12
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in TEXT])

BATCH, BPTT = 4, 25
n = data.numel() // BATCH
data = data[: n * BATCH].view(BATCH, n)


class CharLSTM(nn.Module):
    def __init__(self, vocab, emb=16, hidden=32, layers=1):
        super().__init__()
        self.layers, self.hidden = layers, hidden
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def init_hidden(self, bsz):
        zeros = torch.zeros(self.layers, bsz, self.hidden)
        return zeros, zeros.clone()

    def forward(self, x, state):
        y, state = self.lstm(self.embed(x), state)
        return self.out(y), state


def chunks(source, size):
    for i in range(0, source.size(1) - size - 1, size):
        yield source[:, i:i + size], source[:, i + 1:i + 1 + size]


model = CharLSTM(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    hidden = model.init_hidden(BATCH)
    total, count = 0.0, 0
    for x, y in chunks(data, BPTT):
        optimizer.zero_grad()
        logits, hidden = model(x, hidden)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        count += 1
    print(f"epoch {epoch} loss {total / count:.3f}")
