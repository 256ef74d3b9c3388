import torch
from torch import nn


class Callback:
    def on_epoch_end(self, trainer, epoch, loss):
        pass


class PrintLoss(Callback):
    def on_epoch_end(self, trainer, epoch, loss):
        print(f"[{epoch}] {loss:.4f} lr {trainer.optimizer.param_groups[0]['lr']:.3g}")


class WarmUp(Callback):
    def __init__(self, factor):
        self.factor = factor

    def on_epoch_end(self, trainer, epoch, loss):
        for group in trainer.optimizer.param_groups:
            group["lr"] *= self.factor


class Trainer:
    def __init__(self, model, optimizer, criterion, callbacks=()):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.callbacks = list(callbacks)

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self.model(x), y)

    def fit(self, batches, epochs):
        for epoch in range(epochs):
            total = 0.0
            for batch in batches:
                self.optimizer.zero_grad()
                loss = self.training_step(batch)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            for callback in self.callbacks:
                callback.on_epoch_end(self, epoch, total / len(batches))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    x = torch.randn(120, 3)
    y = (x[:, :1] * x[:, 1:2]) + 0.1 * torch.randn(120, 1)
    batches = list(zip(x.split(30), y.split(30)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    Trainer(model, optimizer, nn.MSELoss(), [PrintLoss(), WarmUp(1.05)]).fit(batches, epochs=8)


if __name__ == "__main__":
    main()
