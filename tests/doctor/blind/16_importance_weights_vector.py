import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(30)
N, D = 400, 5
X = torch.randn(N, D)
Y = ((X[:, 0] + 0.5 * X[:, 1] ** 2) > 1.6).long()


class BalancedCE(nn.Module):
    """Cross entropy with per-class weights that follow the observed class counts."""

    def __init__(self, n_cls, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("freq", torch.full((n_cls,), 1.0 / n_cls))

    def forward(self, logits, target):
        with torch.no_grad():
            now = F.one_hot(target, self.freq.numel()).float().mean(0)
            self.freq.mul_(self.momentum).add_(now, alpha=1 - self.momentum)
            w = 1.0 / (self.freq[target] + 1e-3)
            w = w / w.sum()
        per_sample = F.cross_entropy(logits, target, reduction="none")
        return w * per_sample


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 2))

    def forward(self, x):
        return self.net(x)


def recall(model):
    model.eval()
    with torch.no_grad():
        pred = model(X).argmax(1)
    model.train()
    return ((pred == 1) & (Y == 1)).sum().item() / Y.sum().item()


loader = DataLoader(TensorDataset(X, Y), batch_size=40, shuffle=True)
model, crit = Classifier(), BalancedCE(2)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.8)

for epoch in range(6):
    for xb, yb in loader:
        loss = crit(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    print(f"epoch {epoch} loss {loss.sum().item():.3f} recall of rare class {recall(model):.2f}")
