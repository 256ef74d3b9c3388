from collections import defaultdict
from typing import Callable

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

from .config import Config


class Trainer:
    """The loop; everything else hangs on it by callbacks."""

    EVENTS = ("start", "batch_end", "end")

    def __init__(self, config: Config, model: nn.Module, data: Dataset) -> None:
        self.config = config
        self.device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.callbacks: dict[str, list[Callable[["Trainer"], None]]] = defaultdict(list)
        self.optimizer = torch.optim.AdamW(
            model.parameter_groups(config.decay), lr=config.lr, betas=config.betas
        )
        # batches without end: the number of steps says when to stop
        sampler = RandomSampler(data, replacement=True, num_samples=int(1e10))
        self.loader = DataLoader(
            data,
            config.batch_size,
            sampler=sampler,
            num_workers=0,
            pin_memory=self.device.type == "cuda",
        )
        self.step = 0

    def on(self, event: str):
        assert event in self.EVENTS

        def register(callback):
            self.callbacks[event].append(callback)
            return callback

        return register

    def emit(self, event: str) -> None:
        for callback in self.callbacks[event]:
            callback(self)

    def run(self) -> None:
        self.model.train()
        self.emit("start")
        for self.step, batch in enumerate(self.loader, start=1):
            tokens, targets = (part.to(self.device, non_blocking=True) for part in batch)
            _, self.loss = self.model(tokens, targets)
            self.model.zero_grad(set_to_none=True)
            self.loss.backward()
            self.grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
            self.optimizer.step()
            self.emit("batch_end")
            if self.step == self.config.steps:
                break
        self.emit("end")
