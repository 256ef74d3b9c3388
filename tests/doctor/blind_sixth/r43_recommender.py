"""Matrix factorisation for implicit feedback, item vectors are kept inside the unit ball."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
USERS, ITEMS, DIM = 40, 60, 12


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Embedding(ITEMS, DIM, max_norm=1.0)
        self.bias = nn.Parameter(torch.zeros(ITEMS))

    def all_scores(self, users):
        return self.user(users) @ self.item.weight.t() + self.bias

    def pair_score(self, users, items):
        return (self.user(users) * self.item(items)).sum(1) + self.bias[items]

    def forward(self, users, positives, negatives):
        full = F.cross_entropy(self.all_scores(users), positives)
        margin = self.pair_score(users, positives) - self.pair_score(users, negatives)
        return full + 0.5 * F.softplus(-margin).mean()


def interactions(n=512):
    u = torch.randint(0, USERS, (n,))
    i = (u * 3 + torch.randint(0, 5, (n,))) % ITEMS
    return u, i


users, items = interactions()
model = Recommender()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)

for epoch in range(5):
    order = torch.randperm(len(users))
    total = 0.0
    for idx in order.split(64):
        neg = torch.randint(0, ITEMS, (len(idx),))
        loss = model(users[idx], items[idx], neg)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch} loss {total / len(users):.4f}")
