import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class BYOL(nn.Module):
    def __init__(self, d=16, p=8, tau=0.95):
        super().__init__()
        self.tau = tau
        self.online = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, p))
        self.predictor = nn.Sequential(nn.Linear(p, 16), nn.ReLU(), nn.Linear(16, p))
        self.target = copy.deepcopy(self.online)
        self.target.requires_grad_(False)

    def loss(self, a, b):
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        return 2 - F.cosine_similarity(pa, tb).mean() - F.cosine_similarity(pb, ta).mean()

    def update_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.data.mul_(self.tau).add_(o.data, alpha=1 - self.tau)


def augment(x):
    return x * (torch.rand_like(x) > 0.15) + 0.1 * torch.randn_like(x)


torch.manual_seed(10)
basis = torch.randn(4, 16)
model = BYOL()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(60):
    x = torch.randn(48, 4) @ basis
    loss = model.loss(augment(x), augment(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    model.update_target()
print("loss", round(loss.item(), 4))
