import torch
import torch.nn as nn
import torch.nn.functional as F


def augment(x):
    keep = (torch.rand_like(x) > 0.2).to(x.dtype)
    return x * keep + 0.05 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_dim, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, out_dim)
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)
