import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TextCNN(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 8, k) for k in (2, 3))
        self.fc = nn.Linear(16, classes)

    def forward(self, tokens):
        e = self.emb(tokens).transpose(1, 2)
        pooled = [F.relu(conv(e)).amax(-1) for conv in self.convs]
        return self.fc(torch.cat(pooled, dim=1))


def make_data(n, seed):
    gen = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 30, (n, 9), generator=gen)
    labels = (tokens < 6).sum(1).clamp(max=2)
    return TensorDataset(tokens, labels)


class Accumulator:
    def __init__(self, model, every):
        self.optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
        self.every = every
        self.pending = 0

    def add(self, loss):
        (loss / self.every).backward()
        self.pending += 1
        if self.pending == self.every:
            self.flush()

    def flush(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.pending = 0


def run_epoch(model, loader, acc):
    seen, total = 0, 0.0
    for tokens, labels in loader:
        loss = F.cross_entropy(model(tokens), labels)
        acc.add(loss)
        seen += len(labels)
        total += loss.item() * len(labels)
    if acc.pending:
        # the last group is smaller than acc.every
        loss.backward()
        acc.flush()
    return total / seen


if __name__ == "__main__":
    torch.manual_seed(0)
    model = TextCNN()
    loader = DataLoader(make_data(70, seed=3), batch_size=10)
    acc = Accumulator(model, every=4)
    for epoch in range(4):
        print(epoch, round(run_epoch(model, loader, acc), 4))
