from torch import nn


def build(in_dim, width, outputs):
    trunk = nn.Sequential(nn.Linear(in_dim, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
    heads = nn.ModuleDict({name: nn.Linear(width, n) for name, n in outputs.items()})
    return trunk, heads
