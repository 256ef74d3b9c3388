import torch
from torch import nn

torch.manual_seed(0)


class Smoother(nn.Module):
    """Learned exponential smoothing with a gate that looks at the new value."""

    def __init__(self, channels):
        super().__init__()
        self.gate = nn.Linear(2 * channels, channels)
        self.level = nn.Linear(channels, channels)

    def step(self, state, x):
        keep = torch.sigmoid(self.gate(torch.cat([state, x], dim=-1)))
        return keep * state + (1 - keep) * torch.tanh(self.level(x))


def stream(smoother, state):
    """Send chunks (time, batch, channels) in, get the smoothed chunks out."""
    out = None
    while True:
        chunk = yield out
        outputs = []
        for x in chunk:
            state = smoother.step(state, x)
            outputs.append(state)
        out = torch.stack(outputs)


def chunks(count, length=5, batch=8, channels=2):
    time = torch.arange(count * length)[:, None, None] / 4.0
    walk = 0.7 * torch.sin(time + 6 * torch.rand(batch, channels))
    noisy = walk + 0.3 * torch.randn_like(walk)
    for i in range(0, count * length, length):
        yield noisy[i : i + length], walk[i : i + length]


smoother = Smoother(2)
optimizer = torch.optim.Adam(smoother.parameters(), lr=2e-2)
running = stream(smoother, torch.zeros(8, 2))
next(running)
for k, (noisy, clean) in enumerate(chunks(30)):
    smoothed = running.send(noisy)
    loss = (smoothed - clean).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if k % 10 == 9:
        print(f"chunk {k}: {loss.item():.4f}")
