from collections import deque

import torch
import torch.nn as nn

torch.manual_seed(42)


class Regressor(nn.Module):
    def __init__(self, n_in=6, width=24):
        super().__init__()
        self.hidden = nn.Linear(n_in, width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(torch.nn.functional.silu(self.hidden(x)))


def stream(steps, batch=10):
    g = torch.Generator().manual_seed(7)
    for _ in range(steps):
        x = torch.randn(batch, 6, generator=g)
        noise = torch.randn(batch, 1, generator=g)
        yield x, x.prod(1, keepdim=True) + 0.3 * noise


model = Regressor()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
recent = deque(maxlen=5)
log = []

for i, (x, y) in enumerate(stream(8)):
    prediction = model(x)
    loss = nn.functional.huber_loss(prediction, y)
    recent.append(loss.item())
    # single batches are noisy, so log the mean of the last five
    smooth = sum(recent) / len(recent)
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.append(float(smooth))
    print(i, round(log[-1], 5))
