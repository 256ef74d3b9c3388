"""A projector made at the first forward, outputs caught by a hook, an average that replaces `.data`."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def mlp(inputs, outputs):
    layers = (nn.Linear(inputs, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True))
    return nn.Sequential(*layers, nn.Linear(16, outputs))


def distance(x, y):
    return 2 - 2 * (F.normalize(x, dim=-1) * F.normalize(y, dim=-1)).sum(dim=-1)


class Wrapper(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.projector = None
        self.hidden = {}
        self.hooked = False

    def _hook(self, module, given, output):
        self.hidden["out"] = output.flatten(1)

    def forward(self, x):
        if not self.hooked:
            self.net[-2].register_forward_hook(self._hook)
            self.hooked = True
        self.hidden.clear()
        self.net(x)
        hidden = self.hidden["out"]
        self.hidden.clear()
        if self.projector is None:
            self.projector = mlp(hidden.shape[1], 4)
        return self.projector(hidden), hidden


class BYOL(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.online = Wrapper(net)
        self.predictor = mlp(4, 4)
        self.target = None
        self.forward(torch.randn(2, 6))

    def _target(self):
        if self.target is None:
            self.target = copy.deepcopy(self.online)
            self.target.hooked = False
            for p in self.target.parameters():
                p.requires_grad = False
        return self.target

    def average(self):
        for current, kept in zip(self.online.parameters(), self.target.parameters()):
            kept.data = kept.data * 0.99 + 0.01 * current.data

    def forward(self, x):
        one, two = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
        pred_one = self.predictor(self.online(one)[0])
        pred_two = self.predictor(self.online(two)[0])
        with torch.no_grad():
            target = self._target()
            proj_one, _ = target(one)
            proj_two, _ = target(two)
            proj_one.detach_()
            proj_two.detach_()
        loss = distance(pred_one, proj_two.detach()) + distance(pred_two, proj_one.detach())
        return loss.mean()


learner = BYOL(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)))
opt = torch.optim.Adam(learner.parameters(), lr=3e-4)
for _ in range(14):
    loss = learner(torch.randn(8, 6))
    opt.zero_grad()
    loss.backward()
    opt.step()
    learner.average()
print(loss.item())
