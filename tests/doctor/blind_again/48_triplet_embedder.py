import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, d_in=16, d_out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def mine_triplets(labels, rng):
    triplets = []
    for a in range(len(labels)):
        same = [i for i in range(len(labels)) if labels[i] == labels[a] and i != a]
        other = [i for i in range(len(labels)) if labels[i] != labels[a]]
        if same and other:
            p = same[int(torch.randint(len(same), (1,), generator=rng))]
            n = other[int(torch.randint(len(other), (1,), generator=rng))]
            triplets.append((a, p, n))
    return triplets


def triplet_objective(emb, triplets, margin=0.4):
    terms = []
    for a, p, n in triplets:
        d_ap = (emb[a] - emb[p]).pow(2).sum()
        d_an = (emb[a] - emb[n]).pow(2).sum()
        hinge = F.relu(d_ap - d_an + margin)
        if hinge > 0:
            terms.append(hinge)
    if not terms:
        return emb.sum() * 0.0
    return torch.tensor(terms).mean()


def main():
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(0)
    means = torch.randn(5, 16)
    model = Embedder()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for it in range(40):
        y = torch.randint(0, 5, (24,), generator=rng)
        x = means[y] + 0.8 * torch.randn(24, 16)
        emb = model(x)
        loss = triplet_objective(emb, mine_triplets(y.tolist(), rng))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("triplet loss", round(float(loss), 4))


if __name__ == "__main__":
    main()
