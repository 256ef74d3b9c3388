"""Averages of a model's weights along its training: stochastic weight averaging, moving averages.

Two kinds of averaging functions exist. One returns the new average of a single parameter
(``avg_fn``); the other updates a list of averages in place (``multi_avg_fn``).
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from retrograd.dtypes import dtype, int64
from retrograd.engine.grad_mode import no_grad
from retrograd.nn.batchnorm import _BatchNorm
from retrograd.nn.module import Module
from retrograd.ops.making.construction import tensor
from retrograd.optim.lr_scheduler.base import LRScheduler, Rates, one_per_group
from retrograd.optim.optimizer import Optimizer
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

_Tensors = list[Tensor] | tuple[Tensor, ...]
_AverageOne = Callable[[Tensor, Tensor, Tensor], Tensor]
_AverageAll = Callable[[_Tensors, _Tensors, Tensor], None]


def get_ema_multi_avg_fn(decay: float = 0.999) -> _AverageAll:
    """The exponential moving average of lists of parameters, for `AveragedModel`."""
    _check_decay(decay)

    def ema_update(averages: _Tensors, current: _Tensors, num_averaged: Tensor) -> None:
        interpolated = _interpolates(averages[0])
        with no_grad():
            for average, value in zip(averages, current, strict=True):
                if interpolated:
                    average.lerp_(value, 1 - decay)
                else:
                    average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> _AverageAll:
    """The equally weighted average of lists of parameters, for `AveragedModel`."""

    def swa_update(averages: _Tensors, current: _Tensors, num_averaged: Tensor) -> None:
        interpolated = _interpolates(averages[0])
        with no_grad():
            weight = 1 / (num_averaged + 1)
            for average, value in zip(averages, current, strict=True):
                if interpolated:
                    average.lerp_(value, float(weight))
                elif isinstance(num_averaged, Tensor):
                    average.addcdiv_(value - average, num_averaged + 1)
                else:
                    average.add_(value - average, alpha=weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> _AverageOne:
    """The exponential moving average of one parameter.

    >>> update = torch.optim.swa_utils.get_ema_avg_fn(decay=0.75)
    >>> update(torch.tensor(0.0), torch.tensor(1.0), 5)
    tensor(0.2500)
    """
    _check_decay(decay)

    def ema_update(average: Tensor, current: Tensor, num_averaged: Tensor) -> Tensor:
        with no_grad():
            updated: Tensor = decay * average + (1 - decay) * current
        return updated

    return ema_update


def get_swa_avg_fn() -> _AverageOne:
    """The equally weighted average of one parameter."""

    def swa_update(average: Tensor, current: Tensor, num_averaged: Tensor) -> Tensor:
        with no_grad():
            updated: Tensor = average + (current - average) / (num_averaged + 1)
        return updated

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _interpolates(value: Tensor) -> bool:
    return bool(value.is_floating_point() or value.is_complex())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over the states the model went through.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in [1.0, 2.0, 6.0]:
    ...     _ = model.weight.data.fill_(value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device = None,
        avg_fn: _AverageOne | None = None,
        multi_avg_fn: _AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of `model` into the average."""
        averages = [average.detach() for average in self._averaged(self.module)]
        current = [value.detach() for value in self._averaged(model)]
        pairs = list(zip(averages, current, strict=False))
        if self.n_averaged == 0:
            for average, value in pairs:
                average.copy_(value)
        elif self.multi_avg_fn is not None:
            self._update_lists(self.multi_avg_fn, pairs)
        else:
            update = self.avg_fn or get_swa_avg_fn()
            for average, value in pairs:
                average.copy_(update(average, value, self.n_averaged))
        if not self.use_buffers:
            # Buffers that are not averaged follow the model.
            for ours, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                ours.detach().copy_(theirs.detach())
        self.n_averaged += 1

    def _averaged(self, module: Module) -> Iterable[Tensor]:
        if self.use_buffers:
            return itertools.chain(module.parameters(), module.buffers())
        return module.parameters()

    def _update_lists(self, update: _AverageAll, pairs: list[tuple[Tensor, Tensor]]) -> None:
        """Call `update` once for the parameters of each dtype."""
        lists: dict[dtype, tuple[list[Tensor], list[Tensor]]] = {}
        for average, value in pairs:
            averages, values = lists.setdefault(average.dtype, ([], []))
            averages.append(average)
            values.append(value)
        for averages, values in lists.values():
            update(averages, values, self.n_averaged)


def update_bn(loader: Iterable[Any], model: Module, device: Device = None) -> None:
    """Compute the running statistics of `model`'s batch norm layers anew from all of `loader`.

    A batch that is a list or tuple is used by its first entry.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta: dict[_BatchNorm, float | None] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for layer in momenta:
        # No momentum means the plain average over all batches.
        layer.momentum = None
    with no_grad():
        for batch in loader:
            first = batch[0] if isinstance(batch, list | tuple) else batch
            model(first if device is None else first.to(device))
    for layer, momentum in momenta.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Move the learning rate to `swa_lr` within `anneal_epochs` epochs, then keep it.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(
    ...     optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear"
    ... )
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = one_per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._warn_outside_step()
        # The rate is a mixture of `swa_lr` and the rate without this schedule. The latter is found
        # by taking the last mixture apart, so that another schedule may have changed it.
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        share_before = self._share(step - 1)
        share = self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, target = group["lr"], group["swa_lr"]
            if share_before == 1:
                original = target
            else:
                original = (rate - share_before * target) / (1 - share_before)
            rates.append(target * share + original * (1 - share))
        return rates

    def _share(self, step: int) -> float:
        """How much of the rate is `swa_lr` after `step` steps."""
        done = max(0, min(1, step / max(1, self.anneal_epochs)))
        if self._anneal_strategy == "linear":
            return done
        return (1 - math.cos(math.pi * done)) / 2
