"""The trunk is in both optimizers; the second step uses the first loss's gradient again."""

import torch
from torch import nn

torch.manual_seed(0)
trunk, depth, normals = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 3)
opt_depth = torch.optim.SGD([*trunk.parameters(), *depth.parameters()], 0.01)
opt_normals = torch.optim.SGD([*trunk.parameters(), *normals.parameters()], 0.01)
for step in range(8):
    x = torch.randn(16, 6)
    opt_depth.zero_grad()
    opt_normals.zero_grad()
    depth(trunk(x).tanh()).square().mean().backward()
    opt_depth.step()
    (normals(trunk(x).tanh()) - x[:, :3]).square().mean().backward()  # zero-grad-misuse: zero-grad
    opt_normals.step()
