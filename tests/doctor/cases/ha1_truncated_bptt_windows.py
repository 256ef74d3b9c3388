import torch
import torch.nn as nn
import torch.nn.functional as F


class Reader(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.cells = nn.ModuleList(nn.LSTMCell(dim, dim) for _ in range(2))
        self.out = nn.Linear(dim, vocab)

    def start(self, batch):
        dim = self.emb.embedding_dim
        return [(torch.zeros(batch, dim), torch.zeros(batch, dim)) for _ in self.cells]

    def forward(self, token, states):
        x, new = self.emb(token), []
        for cell, state in zip(self.cells, states):
            h, c = cell(x, state)
            new.append((h, c))
            x = h
        return self.out(x), new


def cut(states):
    return [tuple(part.detach() for part in state) for state in states]


def windows(tokens, size):
    for start in range(0, tokens.size(1) - 1, size):
        stop = min(start + size, tokens.size(1) - 1)
        yield tokens[:, start:stop], tokens[:, start + 1 : stop + 1]


def train(model, tokens, size, optimizer):
    """One pass over a long sequence; gradients reach back one window and no further."""
    states = model.start(tokens.size(0))
    losses = []
    for inputs, targets in windows(tokens, size):
        states = cut(states)
        loss = 0.0
        for t in range(inputs.size(1)):
            logits, states = model(inputs[:, t], states)
            loss = loss + F.cross_entropy(logits, targets[:, t])
        loss = loss / inputs.size(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


if __name__ == "__main__":
    torch.manual_seed(0)
    base = torch.tensor([1, 4, 2, 4, 3, 0, 5])
    tokens = torch.stack([base.roll(i).repeat(6) for i in range(4)])
    model = Reader(vocab=6, dim=12)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        print(epoch, round(train(model, tokens, size=5, optimizer=optimizer), 4))
