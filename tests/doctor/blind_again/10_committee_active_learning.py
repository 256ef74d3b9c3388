import torch
import torch.nn as nn
import torch.nn.functional as F


def make_member(d, k):
    return nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, k))


class Committee:
    def __init__(self, size, d, k, lr=0.01):
        self.d, self.k = d, k
        self.members = [make_member(d, k) for _ in range(size)]
        self.opts = [torch.optim.Adam(m.parameters(), lr=lr) for m in self.members]

    def restart(self):
        """Fresh weights for a new round, so that early labels do not dominate."""
        self.members = [make_member(self.d, self.k) for _ in self.members]

    def fit(self, x, y, steps=30):
        for member, opt in zip(self.members, self.opts):
            for _ in range(steps):
                rows = torch.randint(0, len(x), (min(16, len(x)),))
                loss = F.cross_entropy(member(x[rows]), y[rows])
                opt.zero_grad()
                loss.backward()
                opt.step()

    @torch.no_grad()
    def votes(self, x):
        return torch.stack([m(x).softmax(-1) for m in self.members])

    def disagreement(self, x):
        p = self.votes(x)
        mean = p.mean(0)
        entropy = -(mean * mean.clamp_min(1e-9).log()).sum(-1)
        expected = -(p * p.clamp_min(1e-9).log()).sum(-1).mean(0)
        return entropy - expected


def main():
    torch.manual_seed(44)
    w = torch.randn(5, 3)
    pool = torch.randn(300, 5)
    truth = (pool @ w).argmax(1)
    labelled = list(range(12))
    committee = Committee(4, 5, 3)
    for r in range(4):
        if r:
            committee.restart()
        committee.fit(pool[labelled], truth[labelled])
        acc = (committee.votes(pool).mean(0).argmax(1) == truth).float().mean()
        print(f"round {r}: {len(labelled)} labels, accuracy {acc:.3f}")
        score = committee.disagreement(pool)
        score[labelled] = -1
        labelled += score.topk(10).indices.tolist()


main()
