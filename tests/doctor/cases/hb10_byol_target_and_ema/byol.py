import copy
import itertools

import torch
import torch.nn.functional as F
from torch import nn


def regression_loss(p, z):
    return (2 - 2 * F.cosine_similarity(p, z, dim=-1)).mean()


class Byol:
    def __init__(self, features, hidden=32, out=12):
        self.encoder = nn.Sequential(
            nn.Linear(features, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out)
        )
        self.predictor = nn.Sequential(nn.Linear(out, hidden), nn.ReLU(), nn.Linear(hidden, out))
        self.target = copy.deepcopy(self.encoder)

    def trainable(self):
        return itertools.chain(self.encoder.parameters(), self.predictor.parameters())

    def online(self, x):
        return self.predictor(self.encoder(x))

    def targets(self, x):
        return self.target(x)

    @torch.no_grad()
    def move_target(self, momentum):
        for slow, fast in zip(self.target.parameters(), self.encoder.parameters()):
            slow.mul_(momentum).add_(fast, alpha=1 - momentum)
