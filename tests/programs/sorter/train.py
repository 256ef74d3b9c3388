import copy
import pathlib
import random
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from . import Trainer, Transformer
from .config import DEFAULTS


class SortingTask(Dataset):
    """Sequences and their sorted selves; the loss looks only at the second half."""

    def __init__(self, length: int, digits: int) -> None:
        self.length, self.digits = length, digits

    def __len__(self) -> int:
        return self.digits**self.length

    def __getitem__(self, index):
        places = self.digits ** torch.arange(self.length)
        sequence = torch.div(index, places, rounding_mode="floor") % self.digits
        both = torch.cat((sequence, sequence.sort().values))
        targets = both[1:].clone()
        targets[: self.length - 1] = -100
        return both[:-1], targets


def main(arguments):
    config = copy.deepcopy(DEFAULTS).update_from(arguments)
    print(config)
    random.seed(config.seed)
    np.random.seed(config.seed)
    torch.manual_seed(config.seed)

    task = SortingTask(**config.task)
    shuffled = torch.randperm(len(task)).tolist()
    held_out, rest = shuffled[:100], shuffled[100:]
    model = Transformer(config.model, task.digits, 2 * task.length - 1)
    print(sum(p.numel() for p in model.parameters()), "parameters")
    trainer = Trainer(config.trainer, model, Subset(task, rest))

    folder = pathlib.Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(str(config))

    @trainer.on("batch_end")
    def log(trainer):
        if trainer.step % trainer.config.log_every == 0:
            print(f"step {trainer.step}: loss {trainer.loss:.5f} gradient {trainer.grad_norm:.4f}")

    @trainer.on("end")
    def save(trainer):
        torch.save(trainer.model.state_dict(), folder / "model.pt")

    trainer.run()

    again = Transformer(config.model, task.digits, 2 * task.length - 1)
    print(again.load_state_dict(torch.load(folder / "model.pt")))
    again.eval()
    right = 0
    for tokens, targets in DataLoader(Subset(task, held_out), batch_size=50):
        answer = again.continue_(tokens[:, : task.length], task.length)[:, task.length :]
        right += (answer == targets[:, -task.length :]).all(dim=1).sum().item()
    print(f"sorted {right} of {len(held_out)}")
    print(
        "sampled",
        again.continue_(torch.tensor([[3, 0, 2, 1, 0]]), 5, temperature=0.7)[0, 5:].tolist(),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
