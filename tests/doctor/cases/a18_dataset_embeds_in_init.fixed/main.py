import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from dataset import SessionDataset, collate

torch.manual_seed(0)


class NextItem(nn.Module):
    def __init__(self, items, dim):
        super().__init__()
        self.item_emb = nn.Embedding(items, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, items)

    def forward(self, vectors):
        _, h = self.rnn(vectors)
        return self.out(h[0])


def fit(model, loader, epochs=3):
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for epoch in range(epochs):
        running = 0.0
        for batch, target in loader:
            loss = nn.functional.cross_entropy(model(batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print("epoch", epoch, "loss", round(running / len(loader), 4))


model = NextItem(items=25, dim=10)
dataset = SessionDataset(sessions=48, length=6, items=25, embedding=model.item_emb)
loader = DataLoader(dataset, batch_size=12, shuffle=False, collate_fn=collate, num_workers=0)
fit(model, loader)
