import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)


class RecurrentEncoder(nn.Module):
    """GRU cell unrolled by hand, returns all hidden states."""

    def __init__(self, d_in, d_hid):
        super().__init__()
        self.d_hid = d_hid
        self.cell = nn.GRUCell(d_in, d_hid)
        self.h0 = nn.Parameter(torch.zeros(d_hid))
        self.norm = nn.LayerNorm(d_hid)

    def forward(self, x, lengths):
        b, t, _ = x.shape
        states = x.new_zeros(b, t + 1, self.d_hid)
        states[:, 0] = self.h0
        for i in range(t):
            h = self.cell(x[:, i], states[:, i])
            states[:, i + 1] = h
        mask = torch.arange(t + 1)[None] <= lengths[:, None]
        return self.norm(states) * mask[..., None], states[torch.arange(b), lengths]


class SumClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = RecurrentEncoder(2, 24)
        self.head = nn.Linear(24, 2)
        self.aux = nn.Linear(24, 1)

    def forward(self, x, lengths):
        seq, last = self.enc(x, lengths)
        return self.head(last), self.aux(seq).squeeze(-1)


def batch(n=32, t=10):
    x = torch.randn(n, t, 2)
    lengths = torch.randint(4, t + 1, (n,))
    mask = (torch.arange(t)[None] < lengths[:, None]).float()
    total = (x[..., 0] * mask).sum(1)
    return x, lengths, (total > 0).long()


model = SumClassifier()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
avg = None
for step in range(120):
    x, lengths, y = batch()
    logits, aux = model(x, lengths)
    loss = F.cross_entropy(logits, y) + 1e-3 * aux.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    avg = loss.item() if avg is None else 0.9 * avg + 0.1 * loss.item()
    if step % 30 == 0:
        print(f"step {step} loss {avg:.3f}")
