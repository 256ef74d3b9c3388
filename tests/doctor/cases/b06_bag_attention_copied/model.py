import torch
from torch import nn


class BagClassifier(nn.Module):
    def __init__(self, features, hidden=12):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.score = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.out = nn.Linear(hidden, 1)

    def attention(self, embedded):
        scores = []
        for instance in embedded:
            scores.append(float(self.score(instance)))
        return torch.tensor(scores).softmax(0)

    def forward(self, bag):
        embedded = self.embed(bag)
        weights = self.attention(embedded)
        return self.out(weights @ embedded)
