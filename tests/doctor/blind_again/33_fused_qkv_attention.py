import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class FusedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q *= 1.0 / math.sqrt(q.size(-1))
        att = (q @ k.transpose(-2, -1)).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(b, t, d)
        return self.proj(y)


class SetRegressor(nn.Module):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.inp = nn.Linear(1, dim)
        self.att = FusedAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.inp(x)
        h = self.norm(h + self.att(h))
        return self.out(h.mean(1)).squeeze(-1)


def sets(batch, size=9):
    x = torch.rand(batch, size, 1)
    return x, x.amax(dim=(1, 2)) - x.amin(dim=(1, 2))


def main():
    torch.manual_seed(14)
    net = SetRegressor()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for step in range(60):
        x, y = sets(32)
        loss = F.smooth_l1_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("loss", round(loss.item(), 5))


main()
