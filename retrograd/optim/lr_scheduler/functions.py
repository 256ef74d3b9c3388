"""Schedules given by a Python function of the epoch."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from retrograd.optim.lr_scheduler.base import LRScheduler, Rates, group_values
from retrograd.optim.optimizer import Optimizer

_OfEpoch = Callable[[int], float]


class _FromFunctions(LRScheduler):
    """A schedule with one function for each parameter group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: _OfEpoch | list[_OfEpoch], last_epoch: int = -1
    ) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, list | tuple):
            self.lr_lambdas = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self) -> None:
        """Whether the functions are checked before the first call is up to the schedule."""

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of callable objects their attributes, of functions none."""
        state = self._state_without("optimizer", "lr_lambdas")
        state["lr_lambdas"] = [function_state(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where the scheduler that gave `state_dict` stood; the functions stay."""
        state = dict(state_dict)
        attributes = state.pop("lr_lambdas")
        super().load_state_dict(state)
        for index, values in enumerate(attributes):
            if values is not None:
                self.lr_lambdas[index].__dict__.update(values)


class LambdaLR(_FromFunctions):
    """The initial learning rate times ``lr_lambda(epoch)``.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: (epoch + 1) / 4)
    >>> warm_up.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> Rates:
        self._warn_outside_step()
        return [
            base * function(self.last_epoch)
            for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_FromFunctions):
    """Multiply the learning rate by ``lr_lambda(epoch)`` every epoch."""

    def _check_functions(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )

    def get_lr(self) -> Rates:
        self._warn_outside_step()
        if self._is_initial:
            return group_values(self.optimizer, "lr")
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


def function_state(function: object) -> dict[str, object] | None:
    """What can be saved of a function: the attributes of an object that is called like one."""
    if isinstance(function, types.FunctionType):
        return None
    return function.__dict__.copy()
