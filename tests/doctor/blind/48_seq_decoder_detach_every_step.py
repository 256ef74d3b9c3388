import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(80)
V, HID, DELAY = 6, 32, 4


class Copier(nn.Module):
    """Has to output the symbol it saw DELAY steps before."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 12)
        self.cell = nn.GRUCell(12, HID)
        self.read = nn.Linear(HID, V)

    def init_state(self, n):
        return torch.zeros(n, HID)

    def forward(self, tok, h):
        h = self.cell(self.emb(tok), h)
        return self.read(h), h


class TBPTT:
    """Truncated back-propagation: gradients stay inside one window."""

    def __init__(self, model, window, lr=1e-2):
        self.model, self.window = model, window
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def run(self, seq):
        n, t_max = seq.shape
        h = self.model.init_state(n)
        losses, seen = [], []
        for t in range(t_max):
            logits, h = self.model(seq[:, t], h)
            if t >= DELAY:
                losses.append(F.cross_entropy(logits, seq[:, t - DELAY]))
            if (t + 1) % self.window == 0 and losses:
                loss = torch.stack(losses).mean()
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                seen.append(loss.item())
                losses = []
            h = h.detach()
        return sum(seen) / len(seen)


model = Copier()
trainer = TBPTT(model, window=12)
for it in range(25):
    loss = trainer.run(torch.randint(0, V, (32, 36)))
    if it % 6 == 0:
        print(f"iter {it} loss {loss:.3f}   (chance {torch.log(torch.tensor(float(V))).item():.3f})")
