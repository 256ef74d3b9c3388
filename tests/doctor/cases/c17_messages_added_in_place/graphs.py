from typing import NamedTuple
import torch


class Graph(NamedTuple):
    x: torch.Tensor
    src: torch.Tensor
    dst: torch.Tensor
    edge_attr: torch.Tensor
    energy: torch.Tensor


def random_molecule(seed, atoms=7, bonds=12):
    g = torch.Generator().manual_seed(seed)
    src = torch.randint(0, atoms, (bonds,), generator=g)
    dst = torch.randint(0, atoms, (bonds,), generator=g)
    x = torch.randn(atoms, 6, generator=g)
    edge_attr = torch.randn(bonds, 3, generator=g)
    return Graph(x, src, dst, edge_attr, x.sum() * 0.1)
