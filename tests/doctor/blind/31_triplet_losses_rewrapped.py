import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(63)
N_CLS, DIM = 6, 10
centers = torch.randn(N_CLS, DIM)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def draw(cls):
    return centers[cls] + 1.2 * torch.randn(len(cls), DIM)


def triplets(n):
    a = torch.randint(0, N_CLS, (n,))
    neg = (a + torch.randint(1, N_CLS, (n,))) % N_CLS
    return draw(a), draw(a), draw(neg)


def hard_mining_loss(model, batches, margin=0.4, keep=0.5):
    """Mean over the views, each view keeps its hardest triplets only."""
    per_view = []
    for anchor, pos, neg in batches:
        a, p, n = model(anchor), model(pos), model(neg)
        raw = F.relu((a - p).pow(2).sum(1) - (a - n).pow(2).sum(1) + margin)
        k = max(1, int(keep * len(raw)))
        with torch.no_grad():
            hard = raw.topk(k).indices
        per_view.append(raw[hard].mean())
    return torch.tensor(per_view, requires_grad=True).mean()


@torch.no_grad()
def nn_accuracy(model, n=200):
    c = torch.randint(0, N_CLS, (n,))
    z, ref = model(draw(c)), model(centers)
    return ((z @ ref.t()).argmax(1) == c).float().mean().item()


model = Embedder()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(100):
    loss = hard_mining_loss(model, [triplets(32) for _ in range(3)])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(f"step {step} loss {loss.item():.4f} acc {nn_accuracy(model):.3f}")
