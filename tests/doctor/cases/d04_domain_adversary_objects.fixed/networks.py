import torch
from torch import nn
from torch.nn import functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.lam * grad, None


class FeatureExtractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8), nn.ReLU())

    def forward(self, x):
        return self.seq(x)


class LabelHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def update(self, feats, labels):
        return F.cross_entropy(self.fc(feats), labels)


class DomainHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))

    def update(self, feats, n_source, lam):
        where = torch.zeros(len(feats), 1)
        where[n_source:] = 1.0
        logits = self.fc(Reverse.apply(feats, lam))
        return F.binary_cross_entropy_with_logits(logits, where)
