"""The reference of a preference loss is a copy in training mode: its normalisation moves on."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
ref = copy.deepcopy(policy)
ref.requires_grad_(False)
opt = torch.optim.Adam(policy.parameters(), 1e-3)


def margin(model, x, good, bad):
    scores = model(x).log_softmax(-1)
    return scores.gather(1, good) - scores.gather(1, bad)


for step in range(12):
    x = torch.randn(16, 6)
    good, bad = torch.randint(0, 4, (2, 16, 1))
    with torch.no_grad():
        base = margin(ref, x, good, bad)  # freeze-without-effect: train-mode
    loss = -F.logsigmoid(0.1 * (margin(policy, x, good, bad) - base)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
