import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(26)
torch.set_num_threads(1)


class Recommender(nn.Module):
    def __init__(self, users, items, d=8):
        super().__init__()
        self.user = nn.Embedding(users, d, sparse=True)
        self.item = nn.Embedding(items, d, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(2 * d, 32), nn.ReLU(), nn.Linear(32, 1))
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.3)

    def forward(self, u, i):
        return self.mlp(torch.cat([self.user(u), self.item(i)], 1)).squeeze(1)


class MultiOptimizer:
    def __init__(self, *opts):
        self.opts = opts

    def zero_grad(self):
        for o in self.opts:
            o.zero_grad()

    def step(self):
        for o in self.opts:
            o.step()


U, I = 40, 60
tu, ti = torch.randn(U, 3), torch.randn(I, 3)


def batch(n=256):
    u, i = torch.randint(0, U, (n,)), torch.randint(0, I, (n,))
    return u, i, ((tu[u] * ti[i]).sum(1) > 0).float()


model = Recommender(U, I)
opt = MultiOptimizer(
    torch.optim.SparseAdam(list(model.user.parameters()) + list(model.item.parameters()), lr=2e-2),
    torch.optim.Adam(model.mlp.parameters(), lr=5e-3),
)
with torch.no_grad():
    model.mlp[-1].bias.fill_(0.0)
losses = []
for step in range(240):
    u, i, y = batch()
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(model(u, i), y)
    loss.backward()
    opt.step()
    losses.append(loss.detach())
    if step % 60 == 0 or step == 239:
        print(f"step {step} loss {torch.stack(losses[-20:]).mean().item():.4f}")
