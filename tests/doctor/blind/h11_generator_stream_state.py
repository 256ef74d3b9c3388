import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(111)


def sensor(n, length):
    """Endless windows of a noisy random walk with mean reversion."""
    x = torch.zeros(n)
    while True:
        rows = []
        for _ in range(length + 1):
            x = 0.95 * x + 0.3 * torch.randn(n)
            rows.append(x)
        yield torch.stack(rows, 1).unsqueeze(-1)


class Filter(nn.Module):
    def __init__(self, hid=16):
        super().__init__()
        self.gru = nn.GRU(1, hid, batch_first=True)
        self.out = nn.Linear(hid, 1)

    def windows(self, stream):
        h = None
        for w in stream:
            y, h_new = self.gru(w[:, :-1], h)
            yield self.out(y), w[:, 1:]
            # resumes here after the caller's backward and step
            h = h_new.detach()


model = Filter()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for k, (pred, target) in enumerate(model.windows(sensor(16, 20))):
    loss = F.mse_loss(pred, target)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if k % 30 == 0:
        print(f"window {k} mse {loss.item():.4f}")
    if k == 120:
        break
