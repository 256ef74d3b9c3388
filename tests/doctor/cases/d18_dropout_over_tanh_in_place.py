import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SentenceTagger(nn.Module):
    def __init__(self, vocab=60, dim=16, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mixer = nn.Sequential(
            nn.Conv1d(dim, 32, 3, padding=1),
            nn.Tanh(),
            nn.Dropout(0.25, inplace=True),
            nn.Conv1d(32, 32, 3, padding=1),
            nn.LeakyReLU(inplace=True),
        )
        self.out = nn.Linear(32, tags)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        x = self.mixer(x)
        return self.out(x.transpose(1, 2))


def run_epoch(model, loader, optimizer):
    model.train()
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for tokens, tags in loader:
        optimizer.zero_grad()
        scores = model(tokens)
        loss = criterion(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(13)
    tokens = torch.randint(0, 60, (40, 12))
    loader = DataLoader(TensorDataset(tokens, tokens % 5), batch_size=10)
    model = SentenceTagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(2):
        print(f"epoch {epoch}: {run_epoch(model, loader, optimizer):.4f}")


if __name__ == "__main__":
    main()
