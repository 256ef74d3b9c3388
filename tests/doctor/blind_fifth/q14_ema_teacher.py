import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
torch.set_num_threads(1)


class Encoder(nn.Module):
    def __init__(self, d_in=16, d=32):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(d_in, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, x):
        return self.backbone(x)


class BYOL(nn.Module):
    def __init__(self, tau=0.98):
        super().__init__()
        self.online = Encoder()
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
        self.tau = tau

    @torch.no_grad()
    def update_target(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.mul_(self.tau).add_(po, alpha=1 - self.tau)

    def forward(self, a, b):
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        return (regression(pa, tb) + regression(pb, ta)).mean()


def regression(p, t):
    return 2 - 2 * F.cosine_similarity(p, t, dim=-1)


def augment(x):
    return x + 0.3 * torch.randn_like(x)


protos = torch.randn(5, 16)
data = protos[torch.randint(0, 5, (320,))]
byol = BYOL()
opt = torch.optim.Adam((p for p in byol.parameters() if p.requires_grad), lr=2e-3)
for epoch in range(15):
    losses = []
    for xb in data[torch.randperm(len(data))].split(64):
        loss = byol(augment(xb), augment(xb))
        opt.zero_grad()
        loss.backward()
        opt.step()
        byol.update_target()
        losses.append(loss.item())
    if epoch % 7 == 0:
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")
