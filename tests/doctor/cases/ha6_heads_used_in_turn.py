import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHead(nn.Module):
    """One trunk, one head per data source; a batch comes from one source only."""

    def __init__(self, sources):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 20), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(20, size) for name, size in sources.items()})
        # kept for loading old checkpoints, no longer used
        self.legacy = nn.Linear(20, 2)

    def forward(self, x, source):
        return self.heads[source](self.trunk(x))


def batches(sources, n):
    names = itertools.cycle(sources)
    for _ in range(n):
        name = next(names)
        x = torch.randn(16, 6)
        yield name, x, x[:, : sources[name]].argmax(1)


def describe(model):
    with_grad = [name for name, p in model.named_parameters() if p.grad is not None]
    return sorted({name.rsplit(".", 1)[0] for name in with_grad})


def main():
    torch.manual_seed(0)
    sources = {"camera": 3, "radar": 2, "lidar": 4}
    model = MultiHead(sources)
    optimizer = torch.optim.Adam(
        [
            {"params": model.trunk.parameters(), "lr": 2e-3},
            {"params": model.heads.parameters(), "lr": 1e-2},
            {"params": model.legacy.parameters(), "lr": 0.0},
        ]
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
    running = dict.fromkeys(sources, 0.0)
    for step, (name, x, y) in enumerate(batches(sources, 24)):
        loss = F.cross_entropy(model(x, name), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running[name] = 0.8 * running[name] + 0.2 * loss.item()
        if step < 3:
            print(name, describe(model))
    print({name: round(value, 3) for name, value in running.items()})


if __name__ == "__main__":
    main()
