#!/usr/bin/env python
"""Train with checkpoints. A run that was killed goes on with --resume, as if nothing had happened.

python resume_training.py --out runs/a
python resume_training.py --out runs/a --resume
"""

import argparse
import logging
import os
import pathlib
import random
import sys

import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("train")


def build(args):
    model = nn.Sequential(
        nn.Linear(10, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, amsgrad=True)
    scheduler = SequentialLR(
        optimizer,
        [
            LinearLR(optimizer, start_factor=0.1, total_iters=2),
            CosineAnnealingLR(optimizer, T_max=args.epochs - 2),
        ],
        milestones=[2],
    )
    return model, optimizer, scheduler


def data():
    generator = torch.Generator().manual_seed(1234)
    x = torch.randn(256, 10, generator=generator)
    y = (x[:, :3].prod(dim=1, keepdim=True) + x[:, 3:].sum(dim=1, keepdim=True).sin()).tanh()
    return TensorDataset(x, y)


def save(path: pathlib.Path, **state) -> None:
    """Write to a second file first: a kill in the middle must not cost the old checkpoint."""
    temporary = path.with_suffix(".tmp")
    torch.save(state, temporary)
    os.replace(temporary, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("run"))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument(
        "--wait-after", type=int, metavar="EPOCH", help="to practise pulling the plug"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint = args.out / "last.pt"

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    model, optimizer, scheduler = build(args)
    shuffler = torch.Generator().manual_seed(args.seed)
    loader = DataLoader(data(), batch_size=args.batch_size, shuffle=True, generator=shuffler)
    start, history = 0, []

    if args.resume:
        # numpy's and Python's random states are more than weights
        state = torch.load(checkpoint, map_location="cpu", weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"]["torch"])
        shuffler.set_state(state["rng"]["shuffler"])
        np.random.set_state(state["rng"]["numpy"])
        random.setstate(state["rng"]["python"])
        start, history = state["epoch"] + 1, state["history"]
        log.info("resumed after epoch %d, best loss %.6f", state["epoch"], state["best"])

    for epoch in range(start, args.epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            x = x + args.noise * torch.from_numpy(np.random.randn(*x.shape)).float()
            if random.random() < 0.5:
                x = x + args.noise * torch.randn_like(x)
            loss = nn.functional.smooth_l1_loss(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        scheduler.step()
        history.append(total / len(loader.dataset))
        log.info("epoch %d loss %.6f lr %.6f", epoch, history[-1], scheduler.get_last_lr()[0])
        save(
            checkpoint,
            epoch=epoch,
            model=model.state_dict(),
            optimizer=optimizer.state_dict(),
            scheduler=scheduler.state_dict(),
            history=history,
            best=min(history),
            args=vars(args),
            rng={
                "torch": torch.get_rng_state(),
                "shuffler": shuffler.get_state(),
                "numpy": np.random.get_state(),
                "python": random.getstate(),
            },
        )
        if epoch == args.wait_after:
            print("waiting", flush=True)
            sys.stdin.read()

    log.info("best %.6f of %d epochs", min(history), len(history))
    return 0


if __name__ == "__main__":
    sys.exit(main())
