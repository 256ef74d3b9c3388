from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class TrainArgs:
    global_batch: int = 128
    micro_batch: int = 16
    steps: int = 60
    lr: float = 0.3
    seed: int = 0

    @property
    def grad_accum(self):
        return self.global_batch // self.micro_batch


class ToyData:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.w = torch.randn(20, 5, generator=self.g)

    def next(self, n):
        x = torch.randn(n, 20, generator=self.g)
        return x, (x @ self.w).argmax(1)


def train(args):
    torch.manual_seed(args.seed)
    data = ToyData(args.seed)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        step_loss = 0.0
        for _ in range(args.grad_accum):
            x, y = data.next(args.micro_batch)
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), y) / args.grad_accum
            loss.backward()
            step_loss += loss.item()
        optimizer.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {step_loss:.4f}")
    return model


if __name__ == "__main__":
    train(TrainArgs())
