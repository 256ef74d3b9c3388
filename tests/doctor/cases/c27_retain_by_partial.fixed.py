import torch
from torch import nn, optim
import torch.nn.functional as F

backward = torch.autograd.backward


class Trainer:
    """Small trainer; behaviour is changed by callbacks."""

    def __init__(self, model, optimizer, callbacks=()):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks

    def emit(self, event, **info):
        for callback in self.callbacks:
            getattr(callback, event, lambda **_: None)(trainer=self, **info)

    def train_step(self, batch):
        x, y = batch
        loss = F.smooth_l1_loss(self.model(x).squeeze(-1), y)
        self.optimizer.zero_grad()
        backward([loss])
        self.emit("after_backward")
        self.optimizer.step()
        self.emit("after_step", loss=loss.item())

    def fit(self, data, epochs):
        for epoch in range(epochs):
            for batch in data:
                self.train_step(batch)
            self.emit("after_epoch", epoch=epoch)


class ClipGradients:
    def after_backward(self, trainer):
        nn.utils.clip_grad_value_(trainer.model.parameters(), 0.5)


class History:
    def __init__(self):
        self.losses = []

    def after_step(self, trainer, loss):
        self.losses.append(loss)

    def after_epoch(self, trainer, epoch):
        print(epoch, round(sum(self.losses[-4:]) / 4, 4))


def batches(n=4):
    g = torch.Generator().manual_seed(0)
    return [(x, x.abs().sum(1)) for x in torch.randn(n, 16, 6, generator=g)]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.SELU(), nn.Linear(32, 1))
history = History()
Trainer(model, optim.Adamax(model.parameters(), lr=5e-3), [ClipGradients(), history]).fit(batches(), 3)
