import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class RatingPairs(Dataset):
    def __init__(self, n=60, users=12, items=15):
        g = torch.Generator().manual_seed(0)
        self.u = torch.randint(0, users, (n,), generator=g)
        self.i = torch.randint(0, items, (n,), generator=g)
        self.r = torch.rand(n, generator=g) * 4 + 1
        self.clicked = (self.r > 3).float()

    def __len__(self):
        return len(self.u)

    def __getitem__(self, k):
        return self.u[k], self.i[k], self.r[k], self.clicked[k]


class Recommender(nn.Module):
    def __init__(self, users=12, items=15, dim=8):
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.rating, self.click = nn.Linear(dim, 1), nn.Linear(dim, 1)

    def forward(self, u, i):
        pair = torch.tanh(self.users(u) * self.items(i))
        return self.rating(pair).squeeze(-1), self.click(pair).squeeze(-1)


class RelativeLoss:
    """Each task's loss relative to its own average so far, so that no task dominates."""

    def __init__(self, tasks):
        self.seen = {task: torch.empty(0) for task in tasks}

    def __call__(self, **losses):
        total = 0.0
        for task, loss in losses.items():
            self.seen[task] = torch.cat([self.seen[task], loss.reshape(1)])
            total = total + loss / self.seen[task].mean()
        return total


torch.manual_seed(0)
model = Recommender()
relative = RelativeLoss(["rating", "click"])
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for epoch in range(2):
    for u, i, r, clicked in DataLoader(RatingPairs(), batch_size=20):
        rating, click = model(u, i)
        loss = relative(
            rating=nn.functional.mse_loss(rating, r),
            click=nn.functional.binary_cross_entropy_with_logits(click, clicked),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(float(loss), 4))
