"""Small transformer that learns to reverse a sequence."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB, LEN = 12, 8


class Reverser(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(0.02 * torch.randn(LEN, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, x):
        return self.out(self.enc(self.tok(x) + self.pos))


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    optimizer.zero_grad()
    total = 0.0
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits.flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    x = torch.randint(0, VOCAB, (384, LEN))
    loader = DataLoader(TensorDataset(x, x.flip(1)), batch_size=32, shuffle=True)
    model = Reverser()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for epoch in range(10):
        losses.append(train_one_epoch(model, loader, criterion, optimizer))
        if epoch % 3 == 0:
            print(f"epoch {epoch} loss {losses[-1]:.3f}")
    return losses


losses = main()
