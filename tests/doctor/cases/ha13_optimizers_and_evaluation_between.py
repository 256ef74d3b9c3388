import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Recommender(nn.Module):
    def __init__(self, users, items, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.Embedding(items, dim, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.user(u), self.item(i)], dim=1)).squeeze(1)


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, float("inf"), 0, None

    def __call__(self, value, model):
        if value < self.best - 1e-4:
            self.best, self.bad = value, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad > self.patience


def interactions(n, gen):
    u = torch.randint(0, 20, (n,), generator=gen)
    i = torch.randint(0, 30, (n,), generator=gen)
    return u, i, ((u + i) % 3 == 0).float()


@torch.inference_mode()
def validate(model, data):
    model.eval()
    u, i, y = data
    value = F.binary_cross_entropy_with_logits(model(u, i), y).item()
    model.train()
    return value


def fit():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = Recommender(20, 30)
    tables = torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=2e-2)
    dense = torch.optim.AdamW(model.mlp.parameters(), lr=1e-2)
    warmup = torch.optim.lr_scheduler.LambdaLR(dense, lambda step: min(1.0, (step + 1) / 5))
    held_out, stop = interactions(100, gen), EarlyStop(patience=6)
    for step in range(40):
        u, i, y = interactions(64, gen)
        loss = F.binary_cross_entropy_with_logits(model(u, i), y)
        for opt in (tables, dense):
            opt.zero_grad()
        loss.backward()
        dense.step()
        tables.step()
        warmup.step()
        if step % 4 == 3:
            value = validate(model, held_out)
            if stop(value, model):
                break
    model.load_state_dict(stop.state)
    print("stopped after", step, "best", round(stop.best, 4), round(validate(model, held_out), 4))


if __name__ == "__main__":
    fit()
