import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Meter:
    """Smoothed value as a tensor, plus all values and the logits of the epoch."""

    def __init__(self, momentum=0.9):
        self.momentum = momentum
        self.smooth = None
        self.values, self.logits = [], []

    def add(self, loss, logits):
        loss = loss.detach()
        self.smooth = loss if self.smooth is None else torch.lerp(loss, self.smooth, self.momentum)
        self.values.append(loss)
        self.logits.append(logits.detach())

    def summary(self):
        spread = torch.cat(self.logits).std().item()
        return f"{torch.stack(self.values).mean():.4f} smooth {self.smooth:.4f} spread {spread:.3f}"


def run(net, loader, optimizer, accumulate=2):
    meter = Meter()
    optimizer.zero_grad()
    for number, (x, y) in enumerate(loader, 1):
        logits = net(x).squeeze(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y)
        (loss / accumulate).backward()
        meter.add(loss, logits)
        last = number == len(loader)
        if number % accumulate == 0 or last:
            optimizer.step()
            optimizer.zero_grad()
    return meter


if __name__ == "__main__":
    torch.manual_seed(5)
    x = torch.randn(70, 7)
    loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).float()), batch_size=10)
    net = nn.Sequential(nn.Linear(7, 16), nn.Mish(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
    for epoch in range(3):
        print(epoch, run(net, loader, optimizer).summary())
