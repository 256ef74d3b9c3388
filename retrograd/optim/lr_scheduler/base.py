"""LRScheduler: what every schedule shares, and how learning rates are read and written."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

from retrograd.lifecycle.site import user_level
from retrograd.optim.optimizer import Optimizer
from retrograd.tensor import Tensor

# One learning rate per parameter group: Python numbers, or tensors where the optimizer has those.
Rates: TypeAlias = list[Any]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)

_ORDER_PAGE = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """The base of all schedules: a subclass says in `get_lr` what the next learning rates are.

    Call `step` once per epoch (or batch), after the optimizer's `step`.

    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    optimizer: Optimizer
    base_lrs: Rates
    last_epoch: int
    _step_count: int
    _last_lr: Rates
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked_optimizer(optimizer)
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", unshared(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming "
                    "scheduler with last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """The step from epoch -1 to 0, which sets the first learning rate."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, whose own `state_dict` is saved beside this one."""
        return self._state_without("optimizer")

    def _state_without(self, *names: str) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where the scheduler that gave `state_dict` stood."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The learning rates set last, one for each parameter group."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """Compute the learning rates for `last_epoch`; only `step` calls this."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch, or (deprecated) to the given one, and set the learning rates."""
        if self._step_count == 1:
            self._check_order_of_steps()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=user_level())
        self._update_lr(epoch)

    def _check_order_of_steps(self) -> None:
        """Warn if the optimizer took no step, or if its steps can no longer be noticed."""
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. See more details at {_ORDER_PAGE}",
                UserWarning,
                stacklevel=user_level(),
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                "will result in PyTorch skipping the first value of the learning rate schedule. "
                f"See more details at {_ORDER_PAGE}",
                UserWarning,
                stacklevel=user_level(),
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        """Move `last_epoch` and write the learning rates into the parameter groups."""
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _set_rates(self, rates: Rates) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_group_value(group, "lr", rate)
        self._last_lr = group_values(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        """`get_lr` counts from the current rates; a user nearly always means `get_last_lr`."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`.",
                UserWarning,
                stacklevel=user_level(),
            )


def checked_optimizer(optimizer: Optimizer) -> Optimizer:
    """`optimizer`, or the error for something else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def _notice_steps(optimizer: Optimizer) -> None:
    """Replace `optimizer.step` by one that notes on the optimizer that it was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # A weak reference: the optimizer holds the function, which must not hold the optimizer.
    reference = weakref.ref(optimizer)
    function: Callable[..., object] = optimizer.step.__func__  # type: ignore[attr-defined]

    @functools.wraps(function)
    def step(*args: object, **kwargs: object) -> object:
        stepping: Any = reference()
        stepping._opt_called = True
        return function(stepping, *args, **kwargs)

    vars(step)["_wrapped_by_lr_sched"] = True
    optimizer.step = step  # type: ignore[method-assign]


def unshared(value: float) -> float:
    """`value`; if it is a tensor a copy, which later in-place writes do not change."""
    return value.clone() if isinstance(value, Tensor) else value


def group_values(optimizer: Optimizer, key: str) -> Rates:
    """The option `key` of every parameter group."""
    return [unshared(group[key]) for group in optimizer.param_groups]


def set_group_value(group: dict[str, Any], key: str, value: float) -> None:
    """Set an option; a tensor keeps its identity and is written to in place."""
    current = group[key]
    if not isinstance(current, Tensor):
        group[key] = value
    elif isinstance(value, Tensor) and value.dim() != 0:
        current.fill_(value.squeeze())
    else:
        current.fill_(value)


def one_per_group(name: str, optimizer: Optimizer, value: float | list[float]) -> Rates:
    """The argument `name` as a list with one entry for each parameter group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [unshared(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return [unshared(entry) for entry in value]
