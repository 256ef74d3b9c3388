"""Parameters that are written between the steps of the optimizer that holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from retrograd.watching.gradients import parameters_of
from retrograd.watching.torch_types import OptimizerLike, TensorLike

MOST = 12  # steps of an optimizer that are looked at
MOST_VALUES = 4  # parameters that are compared


@dataclass
class Between:
    """How often the parameters of an optimizer were others before a step than after the last."""

    looks: int = 0
    written: int = 0
    after: list[tuple[TensorLike, int, float]] = field(default_factory=list)


class Outside:
    """Compares the first parameters of each optimizer, after a step and before the next one."""

    def __init__(self, value_of: Callable[[TensorLike], float]) -> None:
        self.between: dict[int, Between] = {}  # by id of the optimizer
        self._value_of = value_of

    def before_step(self, optimizer: OptimizerLike) -> None:
        """Has somebody written since the last step?"""
        known = self.between.get(id(optimizer))
        if known is not None and known.after:
            known.looks += 1
            known.written += all(
                parameter._version != version or self._value_of(parameter) != value
                for parameter, version, value in known.after
            )
            known.after = []

    def after_step(self, optimizer: OptimizerLike) -> None:
        """Note how the step has left them."""
        known = self.between.setdefault(id(optimizer), Between())
        if known.looks < MOST:
            held = parameters_of(optimizer)[:MOST_VALUES]
            known.after = [(p, p._version, self._value_of(p)) for p in held]
