import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(35)
torch.set_num_threads(1)


def pairwise_distance(e):
    sq = e.pow(2).sum(1)
    d2 = (sq[:, None] - 2 * e @ e.t() + sq[None, :]).clamp(min=0)
    d2 = d2 * (1 - torch.eye(len(e)))
    return d2.sqrt()


def batch_hard(e, y, margin=0.5):
    dist = pairwise_distance(e)
    same = y[:, None] == y[None, :]
    eye = torch.eye(len(y), dtype=torch.bool)
    pos = torch.where(same & ~eye, dist, torch.zeros_like(dist)).max(1).values
    neg = torch.where(same, torch.full_like(dist, 1e6), dist).min(1).values
    return F.relu(pos - neg + margin).mean()


class Embedder(nn.Module):
    def __init__(self, d_in=20, d=8):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, x):
        return self.fc(x)


class PKSampler:
    def __init__(self, p=6, k=5):
        self.p, self.k = p, k
        self.centers = torch.randn(12, 20)

    def __call__(self):
        ids = torch.randperm(12)[: self.p].repeat_interleave(self.k)
        return self.centers[ids] + 0.8 * torch.randn(len(ids), 20), ids


sampler = PKSampler()
net = Embedder()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(200):
    x, y = sampler()
    loss = batch_hard(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0 or it == 199:
        print(f"iter {it} loss {loss.item():.4f}")
