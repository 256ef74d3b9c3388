"""Processes with different numbers of batches: those that are done answer the others.

Something that exchanges between processes in each step (a `Joinable`) has a hook that makes the
same exchanges with nothing to say. `Join` runs it in the processes whose batches are used up.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from retrograd.distributed.collectives import all_reduce
from retrograd.distributed.group import get_rank
from retrograd.distributed.work import Work
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor, wrap

__all__ = ["Join", "JoinHook", "Joinable"]

_FEWER = 1000
_EXHAUSTED = "Rank {} exhausted all inputs."
_TOLD = "Detected at least one rank that exhausted inputs. Throwing across all ranks."


class JoinHook:
    """What a process does while others still have batches: to be overridden."""

    def main_hook(self) -> None:
        """Make the exchanges of one step, with nothing to say."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do what remains when all processes are done; whether this one was among the last."""


class _Asked(NamedTuple):
    """What `Join` was asked, as the things in it need to know."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """Something that exchanges between processes in each step, and can answer without a batch."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _Asked()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook that answers the other processes."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of what is exchanged."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of the processes."""


def _count(value: float) -> Tensor:
    return wrap(np.array([value], np.float32))


class Join:
    """The block of a loop whose number of steps differs between processes.

    joinables                   what exchanges in each step: a DistributedDataParallel, an optimizer
    enable                      False: the block does nothing
    throw_on_early_termination  raise in all processes when one is done, instead of answering

    >>> torch.distributed.init_process_group("gloo", "file:///nowhere", rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    >>> with torch.distributed.algorithms.join.Join([model]):
    ...     for batch in [torch.ones(1, 1)] * 3:
    ...         model(batch).sum().backward()
    >>> model.module.weight.grad
    tensor([[3.]])
    >>> torch.distributed.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throw = throw_on_early_termination
        for number, joinable in enumerate(joinables):
            joinable._join_config = _Asked(enable, throw_on_early_termination, number == 0)
        self._group = joinables[0].join_process_group
        if any(joinable.join_process_group != self._group for joinable in joinables):
            raise ValueError("Using join context manager with multiple process groups")

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Answer the processes that still have batches, until all are done."""
        if not self._enable or kind:
            return
        rank, answered = get_rank(self._group), 0
        while self._with_batches():
            if self._throw:
                all_reduce(_count(1), group=self._group)
                raise RuntimeError(_EXHAUSTED.format(rank))
            if answered == _FEWER:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_FEWER}. This means that rank "
                    f"{rank} has at least {_FEWER} fewer inputs than other currently-active "
                    "ranks. This level of skew could lead to performance degradation during "
                    "training.",
                    stacklevel=user_level(),
                )
            for hook in self._hooks:
                hook.main_hook()
            answered += 1
        for hook in self._hooks:
            hook.post_hook(answered == 0)

    def _with_batches(self) -> float:
        count = _count(0)
        all_reduce(count, group=self._group)
        return count.item()

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Say that this process has a batch; to be called before the exchanges of each step.

        The first of the block's joinables says it, and gets the exchange whose result is the number
        of processes that do. With ``throw_on_early_termination`` it raises if one is done.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
            )
        asked = joinable._join_config
        if not asked.is_first_joinable or not asked.enable:
            return None
        group = joinable.join_process_group
        work = all_reduce(_count(1), group=group, async_op=True)
        if asked.throw_on_early_termination:
            done = _count(0)
            all_reduce(done, group=group)
            if done.item():
                raise RuntimeError(_TOLD)
        return work
