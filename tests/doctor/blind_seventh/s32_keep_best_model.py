"""Early stopping: keep a copy of the best model; the attention map is stored for plotting."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        self.last_weights = None

    def forward(self, x):
        w = torch.softmax(self.score(x).squeeze(-1), dim=1)
        self.last_weights = w
        return (w.unsqueeze(-1) * x).sum(1)


class BagClassifier(nn.Module):
    def __init__(self, d_in=6, dim=24):
        super().__init__()
        self.proj = nn.Sequential(nn.Linear(d_in, dim), nn.ReLU())
        self.pool = AttentionPool(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, bag):
        return self.out(self.pool(self.proj(bag))).squeeze(-1)


def bags(n, size=10):
    x = torch.randn(n, size, 6)
    y = (torch.rand(n) > 0.5).float()
    x[y == 1, 0] += 2.0
    return x, y


class EarlyStopping:
    def __init__(self, patience=4):
        self.patience, self.best, self.bad, self.best_model = patience, float("inf"), 0, None

    def __call__(self, loss, model):
        if loss < self.best:
            self.best, self.bad = loss, 0
            self.best_model = copy.deepcopy(model)
        else:
            self.bad += 1
        return self.bad >= self.patience


def train(epochs=25):
    torch.manual_seed(0)
    model, stopper = BagClassifier(), EarlyStopping()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, y = bags(200)
    for epoch in range(epochs):
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if stopper(loss.item(), model):
            break
    print("best loss", stopper.best, "after", epoch + 1, "epochs")
    return stopper.best_model


if __name__ == "__main__":
    train()
