"""A norm that is only looked at, clipped gradients that go on, and those of another optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
model, critic = nn.Linear(6, 1), nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
other = torch.optim.SGD(critic.parameters(), 1e-3)
both = [*model.parameters(), *critic.parameters()]
for _ in range(6):
    inputs = torch.randn(16, 6)
    loss = (model(inputs) - 8 * inputs.sum(1, keepdim=True)).square().mean()
    loss = loss + (critic(inputs) - 3).square().mean()
    optimizer.zero_grad()
    other.zero_grad()
    loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(both, 0.5)  # the model's are clipped too, for nothing
    other.step()
    print(loss.item(), nn.utils.clip_grad_norm_(both, float("inf")).item())

momentum = torch.optim.SGD(model.parameters(), 1e-3)
for _ in range(6):
    inputs = torch.randn(16, 6)
    (model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
    momentum.step()
    for parameter in model.parameters():
        parameter.grad *= 0.5
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # the rest goes into the next step
