"""The life of gradients between backward, step and zero_grad: used twice, or cleared too soon."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrograd.doctor.watching.lines import Step
from retrograd.doctor.watching.records import Call, DirtyStep, EmptyStep, OptimizerStep, ZeroGrad


def parameters_of(owner: Any) -> list[Any]:
    """The parameters of an optimizer or of a module."""
    groups = getattr(owner, "param_groups", None)
    if groups is not None:
        return [parameter for group in groups for parameter in group["params"]]
    return list(owner.parameters())


class Gradients:
    """Follows the `.grad` of every parameter that an optimizer holds."""

    def __init__(self) -> None:
        self.optimizers: list[Any] = []
        self.steps: list[OptimizerStep] = []
        self.zeros: list[ZeroGrad] = []
        self.dirty: list[DirtyStep] = []
        self.empty: list[EmptyStep] = []
        self.received: set[int] = set()  # ids of parameters that ever had a gradient
        self._used: dict[int, tuple[int, int]] = {}  # id -> (id, version) of the gradient at a step
        self._contaminated: dict[int, Call] = {}  # id -> the backward that added to a used one
        self._fresh: dict[int, Call] = {}  # id -> the backward whose gradient waits for a step

    def before_backward(self, call: Call) -> None:
        """A gradient that is still the one a step has used will be added to."""
        for parameter in self._held():
            key, gradient = id(parameter), parameter.grad
            used = self._used.get(key)
            if gradient is None or used is None:
                self._contaminated.pop(key, None)
            elif used == (id(gradient), gradient._version):
                self._contaminated[key] = call
            elif used[0] == id(gradient):
                self._contaminated.pop(key, None)  # written since: cleared or scaled by hand

    def after_backward(self, call: Call) -> None:
        """Gradients are there now."""
        for parameter in self._held():
            if parameter.grad is not None:
                self._fresh[id(parameter)] = call
                self.received.add(id(parameter))

    def before_step(self, optimizer: Any, stack: list[Step]) -> None:
        """What does this step use?"""
        held = parameters_of(optimizer)
        dirty = [p for p in held if id(p) in self._contaminated and p.grad is not None]
        if held and len(dirty) * 2 > len(held):
            call = self._contaminated[id(dirty[0])]
            self.dirty.append(DirtyStep(stack, call, optimizer))
        if held and self._all_empty(held):
            keys = {id(parameter) for parameter in held}
            lost = [cleared for cleared in self.zeros[-6:] if cleared.lost & keys]
            if lost:
                self.empty.append(EmptyStep(stack, lost[-1], optimizer))
        self.received.update(id(p) for p in held if p.grad is not None)

    def _all_empty(self, held: list[Any]) -> bool:
        if all(parameter.grad is None for parameter in held):
            return True
        if len(self.steps) >= 4:  # looking at every element is too slow to do it always
            return False
        return all(parameter.grad is None or not parameter.grad.any() for parameter in held)

    def after_step(self, optimizer: Any, stack: list[Step], number: int, calls: int) -> None:
        """These gradients are used now."""
        held = parameters_of(optimizer)
        for parameter in held:
            key = id(parameter)
            if parameter.grad is not None:
                self._used[key] = (id(parameter.grad), parameter.grad._version)
            self._contaminated.pop(key, None)
            self._fresh.pop(key, None)
        keys = frozenset(id(parameter) for parameter in held)
        self.steps.append(OptimizerStep(stack, number, optimizer, calls, keys))

    def before_zero(self, owner: Any, stack: list[Step], calls: int) -> None:
        """Gradients are cleared; some may not have been used by any step."""
        held = parameters_of(owner)
        lost = frozenset(id(p) for p in held if id(p) in self._fresh)
        self.zeros.append(ZeroGrad(stack, len(self.steps), calls, lost))
        for parameter in held:
            for table in (self._fresh, self._contaminated, self._used):
                table.pop(id(parameter), None)

    def _held(self) -> Iterable[Any]:
        for optimizer in self.optimizers:
            yield from parameters_of(optimizer)
