import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)

emb_dim, n_users, n_items = 12, 60, 90
users = torch.randint(0, n_users, (2000,))
items = torch.randint(0, n_items, (2000,))
ratings = ((users % 7) - (items % 5)).float() / 3


class Factorizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(n_users, emb_dim)
        self.item = nn.Embedding(n_items, emb_dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(-1)
        return dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


model = Factorizer()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
history = []
total_loss = 0.0
seen = 0

for epoch in range(6):
    order = torch.randperm(len(users))
    for idx in order.split(100):
        pred = model(users[idx], items[idx])
        loss = F.mse_loss(pred, ratings[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total_loss += loss * len(idx)
        history.append(loss)
        seen += len(idx)
    print(f"epoch {epoch}  running mean {float(total_loss) / seen:.4f}  last {float(history[-1]):.4f}")

best = min(range(len(history)), key=lambda k: float(history[k]))
print("best batch", best, "of", len(history))
