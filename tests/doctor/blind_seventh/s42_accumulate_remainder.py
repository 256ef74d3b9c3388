"""Gradient accumulation over bags of different size, with an update for the remainder too."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def documents(n):
    for _ in range(n):
        length = int(torch.randint(3, 12, ()))
        words = torch.randint(0, 50, (length,))
        yield words, (words < 10).float().mean().view(1)


class DocNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, words):
        return torch.sigmoid(self.out(self.emb(words).mean(0)))


torch.manual_seed(0)
ACCUM = 16
model = DocNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)


def apply_update(count):
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= count
    opt.step()
    model.zero_grad()


for epoch in range(4):
    pending, running = 0, torch.zeros(())
    for words, y in documents(150):
        loss = F.mse_loss(model(words), y)
        loss.backward()
        running += loss.detach()
        pending += 1
        if pending == ACCUM:
            apply_update(pending)
            pending = 0
    if pending:
        apply_update(pending)
    print(f"epoch {epoch} loss {running.item() / 150:.4f}")
