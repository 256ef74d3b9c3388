"""A training framework in a hundred lines, and a program written with it."""

from __future__ import annotations

import functools
import types
from collections import defaultdict
from typing import Any, Callable, Iterable, Optional, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset, random_split

STEP_OUTPUT = Union[Tensor, dict[str, Any], None]

# ---------------------------------------------------------------------------------------------
# framework


class HyperParameters(types.SimpleNamespace):
    pass


class Module(nn.Module):
    trainer: Optional["Trainer"] = None

    def save_hyperparameters(self, **kwargs: Any) -> None:
        self.hparams = HyperParameters(**kwargs)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def global_step(self) -> int:
        return self.trainer.global_step

    def log(self, name: str, value: Any, *, prog_bar: bool = False, on_epoch: bool = True) -> None:
        value = value.detach() if isinstance(value, Tensor) else torch.tensor(float(value))
        self.trainer.logged[name].append(value.float())
        if prog_bar:
            self.trainer.bar.add(name)

    def log_dict(self, values: dict[str, Any], **kwargs: Any) -> None:
        for name, value in values.items():
            self.log(name, value, **kwargs)

    # hooks
    def on_fit_start(self) -> None: ...
    def on_train_epoch_start(self) -> None: ...
    def on_before_optimizer_step(self, optimizer: Optimizer) -> None: ...
    def on_validation_epoch_end(self) -> None: ...
    def training_step(self, batch: Any, batch_idx: int) -> STEP_OUTPUT:
        raise NotImplementedError

    def validation_step(self, batch: Any, batch_idx: int) -> STEP_OUTPUT:
        raise NotImplementedError

    def configure_optimizers(self) -> Any:
        raise NotImplementedError


class Callback:
    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_"):
            return lambda *args, **kwargs: None
        raise AttributeError(name)


def move(batch: Any, device: torch.device) -> Any:
    if isinstance(batch, Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: move(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(move(value, device) for value in batch)
    return batch


class Trainer:
    def __init__(
        self,
        max_epochs: int = 1,
        callbacks: Iterable[Callback] = (),
        accumulate_grad_batches: int = 1,
        gradient_clip_val: Optional[float] = None,
        deterministic: bool = True,
    ) -> None:
        torch.use_deterministic_algorithms(deterministic)
        self.max_epochs, self.callbacks = max_epochs, list(callbacks)
        self.accumulate, self.clip = accumulate_grad_batches, gradient_clip_val
        self.logged: dict[str, list[Tensor]] = defaultdict(list)
        self.bar: set[str] = set()
        self.metrics: dict[str, float] = {}
        self.global_step, self.should_stop = 0, False

    def call(self, hook: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, self.model, *args)
        if callable(own := getattr(self.model, hook, None)):
            own(*args)

    def fit(self, model: Module, train: DataLoader, val: Optional[DataLoader] = None) -> None:
        self.model = model
        model.trainer = self
        configured = model.configure_optimizers()
        if isinstance(configured, dict):
            self.optimizer, scheduler = configured["optimizer"], configured.get("lr_scheduler")
        elif isinstance(configured, tuple):
            ([self.optimizer], [scheduler]) = configured
        else:
            self.optimizer, scheduler = configured, None

        self.call("on_fit_start")
        for self.current_epoch in range(self.max_epochs):
            model.train()
            self.call("on_train_epoch_start")
            for index, batch in enumerate(train):
                output = model.training_step(move(batch, model.device), index)
                loss = output["loss"] if isinstance(output, dict) else output
                if loss is None:
                    continue
                (loss / self.accumulate).backward()
                if (index + 1) % self.accumulate == 0 or index + 1 == len(train):
                    if self.clip is not None:
                        nn.utils.clip_grad_norm_(model.parameters(), self.clip)
                    self.call("on_before_optimizer_step", self.optimizer)
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                    self.global_step += 1
            if val is not None:
                self.validate(val)
            self.metrics = {name: torch.stack(v).mean().item() for name, v in self.logged.items()}
            self.logged.clear()
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                scheduler.step(self.metrics["val_loss"])
            elif scheduler is not None:
                scheduler.step()
            self.call("on_epoch_end")
            bar = ", ".join(f"{name}={self.metrics[name]:.4f}" for name in sorted(self.bar))
            print(f"Epoch {self.current_epoch}: {self.global_step} steps, {bar}")
            if self.should_stop:
                break

    def validate(self, loader: DataLoader) -> None:
        self.model.eval()
        with torch.inference_mode():
            for index, batch in enumerate(loader):
                self.model.validation_step(move(batch, self.model.device), index)
        self.call("on_validation_epoch_end")
        self.model.train()


class EarlyStopping(Callback):
    def __init__(self, monitor: str, patience: int) -> None:
        self.monitor, self.patience, self.best, self.bad = monitor, patience, float("inf"), 0

    def on_epoch_end(self, trainer: Trainer, module: Module) -> None:
        if (value := trainer.metrics[self.monitor]) < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
            trainer.should_stop = self.bad > self.patience


class GradientNorms(Callback):
    def on_before_optimizer_step(
        self, trainer: Trainer, module: Module, optimizer: Optimizer
    ) -> None:
        grads = [p.grad for p in module.parameters() if p.grad is not None]
        module.log("grad_norm", nn.utils.get_total_norm(grads), prog_bar=True)


# ---------------------------------------------------------------------------------------------
# program


class Blobs(Dataset):
    def __init__(self, count: int) -> None:
        centres = torch.tensor([[0.0, 2.0, 0.5], [1.5, -1.0, 0.0], [-1.5, -1.0, -0.5]])
        self.labels = torch.randint(0, 3, (count,))
        self.points = centres[self.labels] + torch.randn(count, 3)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": self.points[index], "y": self.labels[index], "meta": {"index": index}}


class Classifier(Module):
    def __init__(self, hidden: int = 24, lr: float = 0.02) -> None:
        super().__init__()
        self.save_hyperparameters(hidden=hidden, lr=lr)
        self.body = nn.Sequential(
            nn.LazyLinear(hidden), nn.LayerNorm(hidden), nn.SiLU(), nn.Linear(hidden, 3)
        )
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    @functools.cached_property
    def criterion(self) -> nn.Module:
        return nn.CrossEntropyLoss(label_smoothing=0.05)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)

    def on_fit_start(self) -> None:
        with torch.no_grad():
            self(torch.zeros(1, 3))  # the lazy layer takes its shape
        print(f"{sum(p.numel() for p in self.parameters())} parameters, {self.hparams}")

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        self.log("lr", optimizer.param_groups[0]["lr"])

    def _shared(self, batch: dict[str, Any], stage: str) -> Tensor:
        logits = self(batch["x"])
        loss = self.criterion(logits, batch["y"])
        accuracy = (logits.argmax(-1) == batch["y"]).float().mean()
        self.log_dict({f"{stage}_loss": loss, f"{stage}_acc": accuracy}, prog_bar=True)
        return loss

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> STEP_OUTPUT:
        self.seen += batch["meta"]["index"].numel()
        return {"loss": self._shared(batch, "train")}

    def validation_step(self, batch: dict[str, Any], batch_idx: int) -> None:
        self._shared(batch, "val")

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer = torch.optim.NAdam(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": scheduler, "monitor": "val_loss"}


def main() -> None:
    torch.manual_seed(42)
    train, val = random_split(Blobs(320), [0.8, 0.2], generator=torch.Generator().manual_seed(0))
    model = Classifier()
    trainer = Trainer(
        max_epochs=8,
        callbacks=[EarlyStopping("val_loss", patience=2), GradientNorms()],
        accumulate_grad_batches=2,
        gradient_clip_val=1.0,
    )
    trainer.fit(model, DataLoader(train, 32, shuffle=True), DataLoader(val, 64))
    print(f"seen {model.seen.item()} examples, learning rate {trainer.metrics['lr']:.5f}")


if __name__ == "__main__":
    main()
