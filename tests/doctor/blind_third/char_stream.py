import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)

TEXT = "the cat sat on the mat and the dog sat on the log " * 12
CHARS = sorted(set(TEXT))
CODE = torch.tensor([CHARS.index(c) for c in TEXT])


class CharModel(nn.Module):
    def __init__(self, n_chars, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(n_chars, 16)
        self.rnn = nn.LSTM(16, hidden)
        self.out = nn.Linear(hidden, n_chars)

    def forward(self, chars, state):
        h, state = self.rnn(self.emb(chars), state)
        return self.out(h), state


def detach_state(state):
    return tuple(s.detach() for s in state)


model = CharModel(len(CHARS))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
chunk = 25
for epoch in range(5):
    state = None
    total, count = 0.0, 0
    for i in range(0, len(CODE) - chunk - 1, chunk):
        x = CODE[i:i + chunk].unsqueeze(1)
        y = CODE[i + 1:i + chunk + 1]
        if state is not None:
            state = detach_state(state)
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        total += loss.item()
        count += 1
    print(f"epoch {epoch} loss {total / count:.4f}")
