import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContrastiveModel(nn.Module):
    def __init__(self, dim_a=10, dim_b=14, dim=8):
        super().__init__()
        self.proj_a = nn.Sequential(nn.Linear(dim_a, 24), nn.GELU(), nn.Linear(24, dim))
        self.proj_b = nn.Sequential(nn.Linear(dim_b, 24), nn.GELU(), nn.Linear(24, dim))
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def similarities(self, a, b):
        za = F.normalize(self.proj_a(a), dim=-1)
        zb = F.normalize(self.proj_b(b), dim=-1)
        scale = self.log_scale.exp().clamp(max=100.0)
        return scale * za @ zb.t()

    def forward(self, a, b):
        sims = self.similarities(a, b)
        labels = torch.arange(len(a))
        return 0.5 * (F.cross_entropy(sims, labels) + F.cross_entropy(sims.t(), labels))


def pairs(n):
    shared = torch.randn(n, 6)
    a = torch.cat([shared, torch.randn(n, 4)], 1)
    b = torch.cat([torch.randn(n, 8), shared], 1)
    return a, b


def main():
    torch.manual_seed(0)
    model = ContrastiveModel()
    decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
    other = [p for n, p in model.named_parameters() if not n.endswith("weight")]
    groups = [{"params": decay, "weight_decay": 0.01}, {"params": other, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    for step in range(5):
        loss = model(*pairs(32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, f"loss {loss.item():.4f} temperature {math.exp(-model.log_scale.item()):.5f}")


main()
