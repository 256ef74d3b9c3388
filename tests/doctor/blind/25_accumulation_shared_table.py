import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(41)
N_USER, N_ITEM, D = 60, 40, 16
item_meta = torch.randn(N_ITEM, 6)
user_pref = torch.randn(N_USER, 6)


class ItemTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, D))

    def forward(self, meta):
        return F.normalize(self.mlp(meta), dim=-1)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(N_USER, D)
        self.items = ItemTower()
        self.bias = nn.Parameter(torch.zeros(N_ITEM))

    def scores(self, u, table):
        return self.users(u) @ table.t() + self.bias


def clicks(n):
    u = torch.randint(0, N_USER, (n,))
    p = (user_pref[u] @ item_meta.t()).softmax(-1)
    return u, torch.multinomial(p, 1).squeeze(1)


model = Recommender()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ACCUM = 4
for step in range(60):
    opt.zero_grad()
    # all item vectors, needed by every micro batch
    table = model.items(item_meta)
    running = 0.0
    for micro in range(ACCUM):
        u, i = clicks(64)
        loss = F.cross_entropy(model.scores(u, table), i) / ACCUM
        loss.backward()
        running += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    if step % 15 == 0:
        with torch.no_grad():
            u, i = clicks(500)
            top = model.scores(u, model.items(item_meta)).topk(5, dim=1).indices
            hit = (top == i[:, None]).any(1).float().mean()
        print(f"step {step} loss {running:.3f} hit@5 {hit.item():.3f}")
