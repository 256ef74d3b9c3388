import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
text = "the cat sat on the mat and the dog sat on the log " * 12
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharLSTM(nn.Module):
    """Keeps its own hidden state so that windows of one epoch are connected."""

    def __init__(self, vocab, emb=16, hid=32):
        super().__init__()
        self.hid = hid
        self.emb = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, idx):
        if self.state is None:
            z = torch.zeros(1, idx.size(0), self.hid)
            self.state = (z, z.clone())
        y, self.state = self.lstm(self.emb(idx), self.state)
        return self.out(y)


@torch.no_grad()
def sample(model, start="t", n=20):
    model.reset()
    idx = torch.tensor([[stoi[start]]])
    out = [start]
    for _ in range(n):
        idx = model(idx)[:, -1].argmax(-1, keepdim=True)
        out.append(chars[idx.item()])
    return "".join(out)


model = CharLSTM(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
window = 25
streams = data[: len(data) // 4 * 4].view(4, -1)

for epoch in range(4):
    model.reset()
    losses = []
    for s in range(0, streams.size(1) - window - 1, window):
        x = streams[:, s:s + window]
        y = streams[:, s + 1:s + window + 1]
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f}  {sample(model)!r}")
