"""torchdyn: neural differential equations learn two classes, with both ways of the gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchdyn.core import NeuralODE
from torchdyn.nn import Augmenter, DepthCat

for sensitivity in ("autograd", "adjoint", "interpolated_adjoint"):
    torch.manual_seed(0)
    points, labels = torch.randn(32, 2), torch.randint(2, (32,))
    field = nn.Sequential(DepthCat(1), nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
    times = torch.linspace(0, 1, 2)
    ode = NeuralODE(field, sensitivity=sensitivity, solver="dopri5", atol=1e-4, rtol=1e-4)
    augment, head = Augmenter(augment_dims=2), nn.Linear(4, 2)
    optimizer = torch.optim.Adam([*ode.parameters(), *head.parameters()], lr=0.01)
    for step in range(3):
        _, states = ode(augment(points), times)
        loss = F.cross_entropy(head(states[-1]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(sensitivity, step, f"{loss.item():.6f}")
