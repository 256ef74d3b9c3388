import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class Episode:
    def __init__(self, ways=3, shots=5, d=6):
        protos = 1.5 * torch.randn(ways, d)
        self.y = torch.arange(ways).repeat(shots)
        self.support = protos[self.y] + torch.randn(len(self.y), d)
        self.query = protos[self.y] + torch.randn(len(self.y), d)


class MetaLearner(nn.Module):
    def __init__(self, d=6, ways=3, inner_lr=0.3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, ways))
        self.log_lr = nn.Parameter(torch.tensor(inner_lr).log())

    def forward(self, ep, steps=2):
        fast = dict(self.net.named_parameters())
        for _ in range(steps):
            loss = F.cross_entropy(functional_call(self.net, fast, (ep.support,)), ep.y)
            grads = torch.autograd.grad(loss, tuple(fast.values()), create_graph=True)
            fast = {k: p - self.log_lr.exp() * g for (k, p), g in zip(fast.items(), grads)}
        return F.cross_entropy(functional_call(self.net, fast, (ep.query,)), ep.y)


torch.manual_seed(5)
meta = MetaLearner()
opt = torch.optim.Adam(meta.parameters(), lr=5e-3)
for it in range(30):
    opt.zero_grad()
    batch = [meta(Episode()) for _ in range(3)]
    for query_loss in batch:
        (query_loss / len(batch)).backward()
    opt.step()
print("query loss", round(sum(b.item() for b in batch) / 3, 3), "inner lr", round(meta.log_lr.exp().item(), 3))
