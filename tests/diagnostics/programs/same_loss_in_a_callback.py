"""RG101 same-loss-twice: a callback sends the trainer's last loss back once more.

advice: recompute-forward, retain-graph + runs, remove-extra-backward
"""

import retrograd as torch
from retrograd import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
        self.callbacks = []

    def step(self, x):
        self.loss = self.model(x).pow(2).mean()  # 1
        self.loss.backward()  # 2
        for callback in self.callbacks:
            callback(self)


def gradient_norm(trainer):
    trainer.loss.backward()  # 3
    return sum(p.grad.norm() for p in trainer.model.parameters())


trainer = Trainer()
trainer.callbacks.append(gradient_norm)
trainer.step(torch.ones(2, 4))
