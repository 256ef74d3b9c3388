"""Continual learning: after each task keep a frozen copy and pull towards its weights."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, n_in=10, hidden=32, n_out=2):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, n_out)
        self.features = None

    def forward(self, x):
        self.features = F.relu(self.fc1(x))
        return self.fc2(self.features)


class ContinualLearner:
    def __init__(self, strength=5.0):
        self.model = Classifier()
        self.previous = None
        self.strength = strength
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def penalty(self):
        if self.previous is None:
            return torch.tensor(0.0)
        pairs = zip(self.model.parameters(), self.previous.parameters())
        return sum(((p - q) ** 2).sum() for p, q in pairs)

    def learn(self, x, y, epochs=20):
        for _ in range(epochs):
            logits = self.model(x)
            activity = self.model.features.pow(2).mean()
            loss = F.cross_entropy(logits, y) + 1e-3 * activity + self.strength * self.penalty()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.previous = copy.deepcopy(self.model)
        self.previous.requires_grad_(False)
        return loss.item()


def make_task(seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(200, 10, generator=g)
    w = torch.randn(10, generator=g)
    return x, (x @ w > 0).long()


torch.manual_seed(39)
learner = ContinualLearner(strength=0.1)
tasks = [make_task(s) for s in range(3)]
for k, (x, y) in enumerate(tasks):
    final = learner.learn(x, y)
    with torch.no_grad():
        accs = [(learner.model(a).argmax(1) == b).float().mean().item() for a, b in tasks[:k + 1]]
    print(f"task {k} loss {final:.4f} accs {[round(a, 3) for a in accs]}")
