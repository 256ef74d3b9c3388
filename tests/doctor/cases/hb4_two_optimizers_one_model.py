import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Recommender(nn.Module):
    def __init__(self, users=30, items=20, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.score = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user, item):
        u, i = self.user(user), self.item(item)
        return self.score(torch.cat([u, i], dim=-1)).squeeze(-1) + (u * i).sum(-1)


model = Recommender()
tables = [*model.user.parameters(), *model.item.parameters()]
slow = torch.optim.Adagrad(tables, lr=0.1)
fast = torch.optim.AdamW(model.score.parameters(), lr=1e-2)
truth = torch.randn(30, 3) @ torch.randn(3, 20)

for step in range(80):
    user, item = torch.randint(0, 30, (128,)), torch.randint(0, 20, (128,))
    loss = F.mse_loss(model(user, item), truth[user, item])
    fast.zero_grad()
    loss.backward()
    fast.step()
    if step % 2 == 1:  # the tables see the gradients of two batches
        slow.step()
        slow.zero_grad()
    if step % 20 == 19:
        print(f"step {step} loss {loss.item():.4f}")
