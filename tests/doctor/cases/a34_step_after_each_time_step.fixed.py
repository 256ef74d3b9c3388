import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, tokens):
        h, _ = self.rnn(self.emb(tokens))
        return self.out(h)


def tagged_sentences(n, length, gen):
    tokens = torch.randint(2, 20, (n, length), generator=gen)
    previous = torch.cat([torch.zeros(n, 1, dtype=torch.long), tokens[:, :-1]], dim=1)
    return tokens, ((tokens + previous) % 4 == 0).long() + (tokens > 14).long()


def train_sentence_batch(model, optimizer, tokens, tags):
    scores = model(tokens)
    total = 0.0
    for t in range(tokens.size(1)):
        total = total + F.cross_entropy(scores[:, t], tags[:, t])
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    return total.item() / tokens.size(1)


def accuracy(model, tokens, tags):
    model.eval()
    with torch.no_grad():
        hit = (model(tokens).argmax(-1) == tags).float().mean().item()
    model.train()
    return hit


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(2)
    model = Tagger(vocab=20, tags=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    test = tagged_sentences(32, 8, gen)
    for step in range(12):
        loss = train_sentence_batch(model, optimizer, *tagged_sentences(16, 8, gen))
        if step % 4 == 3:
            print(step, f"{loss:.4f}", f"acc {accuracy(model, *test):.3f}")


if __name__ == "__main__":
    main()
