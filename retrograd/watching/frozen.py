"""Frozen parameters that an optimizer moves nevertheless, because they still have a `.grad`.

A step asks for `.grad`, not for `requires_grad`: zeros, or what was left there, still go into
momentum, and weight decay is added to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from retrograd.watching.gradients import parameters_of
from retrograd.watching.lines import Step
from retrograd.watching.torch_types import OptimizerLike, TensorLike

MOST = 12  # steps of an optimizer that are looked at
MOST_VALUES = 8  # parameters whose values are compared in one step


@dataclass
class Moved:
    """What the steps of an optimizer have done to frozen parameters."""

    optimizer: OptimizerLike
    stack: list[Step]  # of the last such step
    steps: int = 0
    parameters: int = 0  # that have a gradient still, at the last such step


class Frozen:
    """Compares the values of frozen parameters that have a gradient, before and after a step."""

    def __init__(self, value_of: Callable[[TensorLike], float]) -> None:
        self.moved: dict[int, Moved] = {}  # by id of the optimizer
        self._value_of = value_of
        self._before: list[tuple[TensorLike, float]] = []
        self._count = 0
        self._looked: dict[int, int] = {}

    def before_step(self, optimizer: OptimizerLike) -> None:
        """Note the values, if there are such parameters."""
        held = [p for p in parameters_of(optimizer) if not p.requires_grad and p.grad is not None]
        self._before, self._count = [], len(held)
        if held and self._looked.get(id(optimizer), 0) < MOST:
            self._looked[id(optimizer)] = self._looked.get(id(optimizer), 0) + 1
            self._before = [(p, self._value_of(p)) for p in held[:MOST_VALUES]]

    def after_step(self, optimizer: OptimizerLike, stack: list[Step]) -> None:
        """Count the step if a value is another one."""
        if any(self._value_of(p) != value for p, value in self._before):
            moved = self.moved.setdefault(id(optimizer), Moved(optimizer, stack))
            moved.stack, moved.steps, moved.parameters = stack, moved.steps + 1, self._count
        self._before = []
