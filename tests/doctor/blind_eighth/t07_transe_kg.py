"""TransE on a small random knowledge graph, margin ranking loss."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class TransE(nn.Module):
    def __init__(self, n_ent, n_rel, dim):
        super().__init__()
        self.ent = nn.Embedding(n_ent, dim)
        self.rel = nn.Embedding(n_rel, dim)
        nn.init.xavier_uniform_(self.ent.weight)
        nn.init.xavier_uniform_(self.rel.weight)

    def normalize_entities(self):
        norms = self.ent.weight.norm(dim=1, keepdim=True)
        self.ent.weight.div_(norms)

    def score(self, triples):
        h = self.ent(triples[:, 0])
        r = self.rel(triples[:, 1])
        t = self.ent(triples[:, 2])
        return (h + r - t).norm(p=1, dim=1)


def corrupt(triples, n_ent):
    neg = triples.clone()
    swap_head = torch.rand(len(neg)) < 0.5
    rand = torch.randint(0, n_ent, (len(neg),))
    neg[swap_head, 0] = rand[swap_head]
    neg[~swap_head, 2] = rand[~swap_head]
    return neg


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--margin", type=float, default=1.0)
    return ap.parse_args()


def main():
    args = parse()
    torch.manual_seed(6)
    n_ent, n_rel = 60, 4
    heads = torch.randint(0, n_ent, (500,))
    rels = torch.randint(0, n_rel, (500,))
    tails = (heads + 7 * (rels + 1)) % n_ent
    triples = torch.stack([heads, rels, tails], dim=1)

    model = TransE(n_ent, n_rel, args.dim)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(args.epochs):
        total = 0.0
        for idx in torch.randperm(len(triples)).split(100):
            model.normalize_entities()
            pos = triples[idx]
            neg = corrupt(pos, n_ent)
            loss = F.relu(args.margin + model.score(pos) - model.score(neg)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 5:.4f}")


if __name__ == "__main__":
    main()
