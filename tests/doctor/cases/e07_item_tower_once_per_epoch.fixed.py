import torch
import torch.nn as nn


class Tower(nn.Module):
    def __init__(self, count, width=12):
        super().__init__()
        self.table = nn.Embedding(count, width)
        self.project = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, ids):
        return nn.functional.normalize(self.project(self.table(ids)), dim=-1)


class Recommender:
    def __init__(self, users, items, lr=1e-2):
        self.users, self.items = Tower(users), Tower(items)
        self.catalogue = torch.arange(items)
        self.optimizer = torch.optim.Adagrad([*self.users.parameters(), *self.items.parameters()], lr=lr)

    def scores(self, user_ids, item_vectors):
        return self.users(user_ids) @ item_vectors.T / 0.2

    def fit_epoch(self, interactions, batch_size=16):
        order = torch.randperm(len(interactions))
        total = 0.0
        for rows in order.split(batch_size):
            user_ids, item_ids = interactions[rows].unbind(1)
            item_vectors = self.items(self.catalogue)
            loss = nn.functional.cross_entropy(self.scores(user_ids, item_vectors), item_ids)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(rows)
        return total / len(interactions)

    @torch.no_grad()
    def hit_rate(self, interactions, k=3):
        top = self.scores(interactions[:, 0], self.items(self.catalogue)).topk(k).indices
        return (top == interactions[:, 1:]).any(1).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(1)
    users = torch.randint(0, 30, (64,))
    interactions = torch.stack([users, users % 10], 1)
    recommender = Recommender(users=30, items=10)
    for epoch in range(3):
        print(epoch, recommender.fit_epoch(interactions), recommender.hit_rate(interactions))
