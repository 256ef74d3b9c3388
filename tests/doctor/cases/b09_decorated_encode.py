import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.words = nn.EmbeddingBag(vocabulary, dim, mode="mean")
        self.project = nn.Linear(dim, dim)

    def forward(self, tokens):
        return F.normalize(self.project(self.words(tokens)), dim=-1)


class Retriever(nn.Module):
    def __init__(self, vocabulary=40, dim=16):
        super().__init__()
        self.query_tower = Tower(vocabulary, dim)
        self.text_tower = Tower(vocabulary, dim)
        self.temperature = nn.Parameter(torch.tensor(2.0))

    @torch.no_grad()
    def encode_texts(self, texts):
        return self.text_tower(texts)

    def search(self, query, texts, k=1):
        scores = self.query_tower(query) @ self.encode_texts(texts).t()
        return scores.topk(k, dim=-1).indices

    def loss(self, queries, texts):
        logits = self.query_tower(queries) @ self.encode_texts(texts).t()
        return F.cross_entropy(logits * self.temperature.exp(), torch.arange(len(queries)))


def pairs(n, generator):
    texts = torch.randint(0, 40, (n, 6), generator=generator)
    return (texts[:, :3] + 7) % 40, texts


torch.manual_seed(0)
generator = torch.Generator().manual_seed(2)
model = Retriever()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(50):
    queries, texts = pairs(32, generator)
    optimizer.zero_grad()
    loss = model.loss(queries, texts)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        hits = (model.search(queries, texts)[:, 0] == torch.arange(32)).float().mean()
        print(f"{step:3d} loss {loss.item():.3f} recall@1 {hits.item():.2f}")
