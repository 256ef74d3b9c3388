"""Gradient accumulation with a last incomplete group and a warm-up schedule."""
import torch
import torch.nn as nn
from dataclasses import dataclass

torch.manual_seed(0)


@dataclass
class Config:
    micro: int = 8
    accum: int = 4
    epochs: int = 3
    lr: float = 3e-3
    clip: float = 1.0


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: min(1.0, (s + 1) / 5))
        self.crit = nn.CrossEntropyLoss()

    def apply_update(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.opt.step()
        self.sched.step()
        self.opt.zero_grad(set_to_none=True)

    def fit(self, x, y):
        batches = list(zip(x.split(self.cfg.micro), y.split(self.cfg.micro)))
        for epoch in range(self.cfg.epochs):
            running = torch.zeros(())
            for i, (xb, yb) in enumerate(batches):
                group_start = (i // self.cfg.accum) * self.cfg.accum
                group = min(self.cfg.accum, len(batches) - group_start)
                loss = self.crit(self.model(xb), yb)
                (loss / group).backward()
                running += loss.detach()
                if (i + 1) % self.cfg.accum == 0 or i + 1 == len(batches):
                    self.apply_update()
            print(f"epoch {epoch}: {running.item() / len(batches):.4f}")


if __name__ == "__main__":
    x = torch.randn(150, 10)
    y = (x @ torch.randn(10, 3)).argmax(1)
    net = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 3))
    Trainer(net, Config()).fit(x, y)
