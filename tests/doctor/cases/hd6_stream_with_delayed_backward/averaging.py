import copy

import torch


class Average:
    def __init__(self, model, rate=0.2):
        self.rate = rate
        self.shadow = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for mine, theirs in zip(self.shadow.parameters(), model.parameters()):
            mine.lerp_(theirs, self.rate)

    @torch.no_grad()
    def distance(self, model):
        pairs = zip(self.shadow.parameters(), model.parameters())
        return sum(float((a - b).norm()) for a, b in pairs)
