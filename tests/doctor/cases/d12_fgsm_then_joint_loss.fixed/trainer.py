import torch
from torch import nn
from attack import fgsm


class RobustTrainer:
    def __init__(self, eps, seed):
        torch.manual_seed(seed)
        self.eps = eps
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.loss = nn.CrossEntropyLoss()
        self.x = torch.randn(60, 10)
        self.y = (self.x.sum(1) > 0).long()

    def step(self, x, y):
        x = x.clone().requires_grad_()
        clean = self.loss(self.net(x), y)
        x_adv = fgsm(clean, x, self.eps)
        adv = self.loss(self.net(x_adv), y)
        total = 0.5 * clean + 0.5 * adv
        self.opt.zero_grad()
        total.backward()
        self.opt.step()
        return total.item()

    def epoch(self):
        values = [self.step(self.x[i:i + 20], self.y[i:i + 20]) for i in range(0, 60, 20)]
        return sum(values) / len(values)
