import torch
import torch.nn as nn
import torch.nn.functional as F


class Embed(nn.Module):
    def __init__(self, d=12, k=6):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, k))

    def forward(self, x):
        return F.normalize(self.f(x), dim=1)


@torch.no_grad()
def hardest(emb, labels):
    dist = torch.cdist(emb, emb)
    same = labels[:, None] == labels[None, :]
    positive = dist.masked_fill(~same, -1.0).argmax(1)
    negative = dist.masked_fill(same, 10.0).argmin(1)
    return positive, negative


def triplet(emb, labels, margin=0.3):
    pos, neg = hardest(emb, labels)
    gap = (emb - emb[pos]).pow(2).sum(1) - (emb - emb[neg]).pow(2).sum(1)
    active = (gap > -margin).float()
    return (F.relu(gap + margin) * active).sum() / active.sum().clamp_min(1.0), active.mean()


def main():
    torch.manual_seed(15)
    centers = torch.randn(6, 12)
    model = Embed()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = []
    for step in range(80):
        y = torch.arange(6).repeat(8)
        x = centers[y] + 0.7 * torch.randn(48, 12)
        loss, share = triplet(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append((loss.item(), share.item()))
    print("loss %.3f active %.2f -> loss %.3f active %.2f" % (*history[0], *history[-1]))


main()
