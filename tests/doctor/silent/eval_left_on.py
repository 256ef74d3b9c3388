"""Validation switches the model to evaluation, and nothing switches it back."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
inputs = torch.randn(32, 6)
targets = inputs.sum(1, keepdim=True)


def validate(network):
    network.eval()
    with torch.no_grad():
        return (network(inputs) - targets).abs().mean().item()


model.train()
for epoch in range(4):  # left-in-eval-mode: train-mode
    for rows in torch.randperm(32).split(8):
        loss = (model(inputs[rows]) - targets[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(validate(model))
