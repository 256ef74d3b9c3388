import copy

import torch


class MeanTeacher:
    def __init__(self, student, decay):
        self.net = copy.deepcopy(student)
        self.decay = decay

    @torch.no_grad()
    def predict(self, x):
        return self.net(x + 0.05 * torch.randn_like(x)).softmax(-1)

    def follow(self, student):
        for mine, theirs in zip(self.net.parameters(), student.parameters()):
            mine.mul_(self.decay).add_(theirs, alpha=1 - self.decay)
