import torch
import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass


@dataclass
class Config:
    micro_batch: int = 8
    accumulate: int = 8
    lr: float = 0.02
    updates: int = 60
    seed: int = 0


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=1e-4)
        self.micro_step = 0

    def micro(self, x, y):
        """One micro batch; steps the optimizer when enough of them are collected."""
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y) / self.cfg.accumulate
        loss.backward()
        self.micro_step += 1
        if self.micro_step % self.cfg.accumulate == 0:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
        return loss.item() * self.cfg.accumulate

    @torch.no_grad()
    def accuracy(self, x, y):
        return (self.model(x).argmax(1) == y).float().mean().item()


def make_problem(seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(12, 4, generator=g)

    def batch(n):
        x = torch.randn(n, 12, generator=g)
        return x, (x @ w + 0.5 * torch.randn(n, 4, generator=g)).argmax(1)
    return batch


def main(cfg):
    torch.manual_seed(cfg.seed)
    batch = make_problem(cfg.seed)
    model = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 4))
    trainer = Trainer(cfg, model)
    test = batch(400)
    for update in range(cfg.updates):
        losses = [trainer.micro(*batch(cfg.micro_batch)) for _ in range(cfg.accumulate)]
        if update % 20 == 0:
            print(f"update {update} loss {sum(losses) / len(losses):.3f} acc {trainer.accuracy(*test):.3f}")
    print("final acc", trainer.accuracy(*test))


main(Config())
