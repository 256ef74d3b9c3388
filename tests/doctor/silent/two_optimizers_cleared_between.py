"""The trunk is in both optimizers, and cleared between their losses, or trained by one sum."""

import torch
from torch import nn

torch.manual_seed(0)
trunk, depth, normals = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 3)
opt_depth = torch.optim.SGD([*trunk.parameters(), *depth.parameters()], 0.01)
opt_normals = torch.optim.SGD([*trunk.parameters(), *normals.parameters()], 0.01)
for step in range(8):
    x = torch.randn(16, 6)
    opt_depth.zero_grad()
    depth(trunk(x).tanh()).square().mean().backward()
    opt_depth.step()
    opt_normals.zero_grad()
    (normals(trunk(x).tanh()) - x[:, :3]).square().mean().backward()
    opt_normals.step()
