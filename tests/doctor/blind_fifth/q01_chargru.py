import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in TEXT])

BATCH, SEQ = 4, 20


def batchify(x, bsz):
    n = x.size(0) // bsz
    return x[: n * bsz].view(bsz, n)


class CharGRU(nn.Module):
    def __init__(self, vocab, emb=16, hid=32):
        super().__init__()
        self.hid = hid
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)

    def forward(self, x, h):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, self.hid)


stream = batchify(data, BATCH)
model = CharGRU(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
crit = nn.CrossEntropyLoss()

for epoch in range(4):
    hidden = model.init_hidden(BATCH)
    total, steps = 0.0, 0
    for i in range(0, stream.size(1) - SEQ - 1, SEQ):
        x = stream[:, i : i + SEQ]
        y = stream[:, i + 1 : i + SEQ + 1]
        opt.zero_grad()
        logits, hidden = model(x, hidden)
        loss = crit(logits.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        opt.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch} loss {total / steps:.4f}")
