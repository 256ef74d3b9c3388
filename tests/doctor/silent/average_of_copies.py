"""An average of copies, weights that are clipped, and views that are only read."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
average = {name: p.detach().clone() for name, p in model.named_parameters()}
weights = [p.detach() for p in model.parameters()]
for _ in range(6):
    loss = (model(torch.randn(8, 4)) - 3).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for name, p in model.named_parameters():
            average[name].mul_(0.9).add_(p, alpha=0.1)
        for weight in weights:
            weight.clamp_(-1, 1).mul_(0.999)
        for weight, p in zip(weights, model.parameters(), strict=True):
            weight.mul_(0.999).sub_(1e-3 * p.grad)
    print(sum(weight.norm().item() for weight in weights))
