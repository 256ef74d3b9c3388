"""Truncated BPTT over a long sequence: several backward calls, one optimizer step."""
import torch
import torch.nn as nn

torch.manual_seed(48)


class Tagger(nn.Module):
    def __init__(self, n_in=3, hidden=20):
        super().__init__()
        self.cell = nn.LSTMCell(n_in, hidden)
        self.out = nn.Linear(hidden, 1)
        self.h0 = nn.Parameter(torch.zeros(1, hidden))
        self.c0 = nn.Parameter(torch.zeros(1, hidden))

    def start(self, n):
        return self.h0.expand(n, -1), self.c0.expand(n, -1)

    def forward(self, x, state):
        preds = []
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
            preds.append(self.out(state[0]))
        return torch.stack(preds, 1), state


x = torch.randn(16, 60, 3)
y = x[..., :1].cumsum(1).tanh()
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
K = 15

for epoch in range(12):
    state = model.start(len(x))
    opt.zero_grad()
    total = 0.0
    for s in range(0, x.shape[1], K):
        pred, state = model(x[:, s:s + K], state)
        loss = nn.functional.mse_loss(pred, y[:, s:s + K]) * K / x.shape[1]
        loss.backward()
        total += loss.item()
        state = tuple(v.detach() for v in state)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} mse {total:.4f}")
