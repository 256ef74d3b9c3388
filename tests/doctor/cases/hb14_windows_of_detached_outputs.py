from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class MemoryBank:
    def __init__(self, batches):
        self.window = deque(maxlen=batches)

    def add(self, embeddings):
        self.window.append(embeddings.detach())

    def negatives(self):
        return torch.cat(tuple(self.window)) if self.window else None


class History:
    def __init__(self):
        self.values, self.outputs = [], []

    def log(self, loss, output):
        self.values.append(loss.item())
        self.outputs.append(output.detach().mean(0))

    def summary(self, last=5):
        drift = (self.outputs[-1] - self.outputs[0]).norm().item()
        return sum(self.values[-last:]) / last, drift


def contrastive(query, key, negatives, temperature=0.2):
    positive = (query * key).sum(-1, keepdim=True)
    others = query @ negatives.t()
    logits = torch.cat([positive, others], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(len(query), dtype=torch.long))


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)
    bank, history = MemoryBank(batches=4), History()
    for step in range(40):
        x = torch.randn(32, 10)
        query = F.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=-1)
        key = F.normalize(encoder(x), dim=-1)
        negatives = bank.negatives()
        bank.add(key)
        if negatives is None:
            continue
        loss = contrastive(query, key, negatives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.log(loss, query)
        if step % 10 == 9:
            print(step, "loss {:.4f} drift {:.4f}".format(*history.summary()))


if __name__ == "__main__":
    main()
