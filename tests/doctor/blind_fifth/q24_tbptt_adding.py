import torch
from torch import nn

torch.manual_seed(13)
torch.set_num_threads(1)


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


class Echo(nn.Module):
    """Repeat the input seen three steps earlier."""

    def __init__(self, hid=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hid, batch_first=True)
        self.out = nn.Linear(hid, 1)

    def forward(self, x, state):
        y, state = self.lstm(x, state)
        return self.out(y), state


def stream(batch=16, length=200, lag=3):
    x = torch.randint(0, 2, (batch, length, 1)).float()
    y = torch.zeros_like(x)
    y[:, lag:] = x[:, :-lag]
    return x, y


net = Echo()
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
lossf = nn.BCEWithLogitsLoss()
BPTT = 10

for epoch in range(12):
    x, y = stream()
    state = (torch.zeros(1, 16, 24), torch.zeros(1, 16, 24))
    total, chunks = 0.0, 0
    for xb, yb in zip(x.split(BPTT, 1), y.split(BPTT, 1)):
        state = repackage(state)
        optim.zero_grad()
        pred, state = net(xb, state)
        loss = lossf(pred, yb)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optim.step()
        total, chunks = total + loss.item(), chunks + 1
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {total / chunks:.4f}")
