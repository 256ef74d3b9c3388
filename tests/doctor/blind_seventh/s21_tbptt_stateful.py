"""Character model trained with truncated BPTT; the state is carried across chunks."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
text = ("the quick brown fox jumps over the lazy dog. " * 30)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

BATCH, CHUNK = 4, 16
cols = len(data) // BATCH
stream = data[:cols * BATCH].view(BATCH, cols)


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids, state):
        h, state = self.lstm(self.emb(ids), state)
        return self.out(h), state


model = CharLSTM(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(3):
    state = None
    total, n = 0.0, 0
    for start in range(0, cols - CHUNK - 1, CHUNK):
        x = stream[:, start:start + CHUNK]
        y = stream[:, start + 1:start + CHUNK + 1]
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        for s in state:
            s.detach_()
        total, n = total + loss.item(), n + 1
    print(f"epoch {epoch}: {total / n:.3f}")
