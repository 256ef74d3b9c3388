import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 48)
        self.fc2 = nn.Linear(48, 24)

    def forward(self, x):
        return torch.tanh(self.fc2(F.relu(self.fc1(x))))


trunk = Trunk()
heads = nn.ModuleDict({"price": nn.Linear(24, 1), "kind": nn.Linear(24, 3)})
optims = {
    "price": torch.optim.Adam(list(trunk.parameters()) + list(heads["price"].parameters()), lr=2e-3),
    "kind": torch.optim.Adam(list(trunk.parameters()) + list(heads["kind"].parameters()), lr=2e-3),
}
W = torch.randn(10, 1)
C = torch.randn(10, 3)


def sample(n=64):
    x = torch.randn(n, 10)
    return x, {"price": x @ W + 0.1 * torch.randn(n, 1), "kind": (x @ C).argmax(1)}


def task_loss(name, feat, target):
    pred = heads[name](feat)
    if name == "price":
        return F.smooth_l1_loss(pred, target)
    return F.cross_entropy(pred, target)


def train_step(x, targets):
    log = {}
    feat = trunk(x)
    names = list(targets)
    for i, name in enumerate(names):
        loss = task_loss(name, feat, targets[name])
        optims[name].zero_grad()
        # trunk features are shared, the graph is needed again for the other task
        loss.backward(retain_graph=i < len(names) - 1)
        optims[name].step()
        log[name] = loss.item()
    return log


history = []
for step in range(150):
    x, targets = sample()
    log = train_step(x, targets)
    history.append(log)
    if step % 50 == 0:
        print(step, {k: round(v, 3) for k, v in log.items()})

with torch.no_grad():
    x, t = sample(500)
    f = trunk(x)
    print("kind acc", (heads["kind"](f).argmax(1) == t["kind"]).float().mean().item())
