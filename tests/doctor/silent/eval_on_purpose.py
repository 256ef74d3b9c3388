"""Statistics of normalisation are frozen after two epochs, on purpose; a plain model has no mode."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
plain = nn.Linear(6, 1)
optimizer = torch.optim.Adam([*model.parameters(), *plain.parameters()], 1e-2)
inputs = torch.randn(32, 6)
targets = inputs.sum(1, keepdim=True)


def error():
    with torch.no_grad():
        return (model(inputs) + plain(inputs) - targets).abs().mean().item()


for epoch in range(6):
    for rows in torch.randperm(32).split(8):
        loss = (model(inputs[rows]) + plain(inputs[rows]) - targets[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    plain.eval()
    if epoch == 2:
        # from here on the running statistics are kept as they are
        model.eval()
    print(error())
