import torch
import torch.nn as nn


class Callback:
    def on_batch_start(self, trainer): ...

    def on_before_step(self, trainer): ...

    def on_batch_end(self, trainer): ...


class GradientHygiene(Callback):
    """Keeps gradients from leaking from batch to batch."""

    def on_before_step(self, trainer):
        trainer.optimizer.zero_grad()


class Clip(Callback):
    def __init__(self, limit):
        self.limit = limit

    def on_before_step(self, trainer):
        nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class LossLog(Callback):
    def __init__(self):
        self.values = []

    def on_batch_end(self, trainer):
        self.values.append(trainer.loss.item())


class Trainer:
    def __init__(self, model, optimizer, objective, callbacks):
        self.model, self.optimizer, self.objective = model, optimizer, objective
        self.callbacks = callbacks

    def fire(self, event):
        for cb in self.callbacks:
            getattr(cb, event)(self)

    def fit(self, batches):
        for x, y in batches:
            self.fire("on_batch_start")
            self.loss = self.objective(self.model(x), y)
            self.loss.backward()
            self.fire("on_before_step")
            self.optimizer.step()
            self.fire("on_batch_end")


def sine_batches(n):
    for _ in range(n):
        x = torch.rand(64, 1) * 6 - 3
        yield x, torch.sin(x)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    log = LossLog()
    trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=0.01), nn.MSELoss(),
                      [Clip(5.0), GradientHygiene(), log])
    trainer.fit(sine_batches(150))
    print(f"loss {sum(log.values[:10]) / 10:.4f} -> {sum(log.values[-10:]) / 10:.4f}")


if __name__ == "__main__":
    main()
