"""The step has used the gradients when they are clipped."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
for _ in range(6):
    inputs = torch.randn(16, 6)
    loss = (model(inputs) - 8 * inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # clipped-after-step: reorder-step
    print(loss.item(), norm.item())
