"""Large effective batch out of micro-batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader, lr=0.1, accumulate=8):
        self.model = model
        self.loader = loader
        self.accumulate = accumulate
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.updates = 0

    def backward(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y) / self.accumulate
        loss.backward()
        return loss.item() * self.accumulate

    def epoch(self):
        total = 0.0
        for i, (x, y) in enumerate(self.loader):
            total += self.backward(x, y)
            if (i + 1) % self.accumulate == 0:
                self.opt.step()
                self.updates += 1
        return total / len(self.loader)


def make_loader(n=512, d=10, k=4, bs=8):
    w = torch.randn(d, k)
    x = torch.randn(n, d)
    y = (x @ w).argmax(1)
    return DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=True)


def main():
    torch.manual_seed(0)
    loader = make_loader()
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
    trainer = Trainer(model, loader)
    for epoch in range(5):
        print(f"epoch {epoch} loss {trainer.epoch():.4f} updates {trainer.updates}")
    return trainer


if __name__ == "__main__":
    trainer = main()
