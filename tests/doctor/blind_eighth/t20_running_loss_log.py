"""Train a GRU classifier on sequences and keep statistics for a plot at the end."""
import torch
import torch.nn as nn

torch.manual_seed(19)


class GRUClassifier(nn.Module):
    def __init__(self, n_in=6, hidden=32, n_out=3):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, n_out)

    def forward(self, x):
        _, h = self.gru(x)
        return self.fc(h[-1])


class Meter:
    def __init__(self):
        self.total = 0.0
        self.n = 0

    def update(self, value, k):
        self.total += value * k
        self.n += k

    @property
    def average(self):
        return self.total / max(self.n, 1)


def get_batch(n=32, length=12):
    x = torch.randn(n, length, 6)
    y = x.sum(1)[:, :3].argmax(1)
    return x, y


model = GRUClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
loss_meter, acc_meter = Meter(), Meter()

for it in range(120):
    x, y = get_batch()
    logits = model(x)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    loss_meter.update(loss, len(y))
    acc_meter.update((logits.argmax(1) == y).float().mean().item(), len(y))
    if it % 40 == 39:
        print(f"iter {it + 1} avg loss {float(loss_meter.average):.4f} avg acc {acc_meter.average:.3f}")
