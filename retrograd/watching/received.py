"""Who gets a gradient at each step of each optimizer: what two runs of a program are compared by.

A step is a text with one sign for each parameter of the optimizer; equal steps that follow each
other are kept as one run, and long programs are sampled, so a record stays small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.graph import in_ranges
from retrograd.watching.records import Call
from retrograd.watching.torch_types import OptimizerLike, TensorLike

NOTHING, ZERO, GIVEN, FROZEN, SPOILED = ".", "0", "+", "f", "!"
"""No gradient; one that is exactly zero; another one; the parameter wants none; inf or nan."""

EVERY_STEP = 24  # so many steps are looked at one by one
SELDOM, SELDOM_FROM = 256, 4096
OFTEN = 8
MOST_RUNS = 400
MOST_LOSSES = 64


@dataclass
class Run:
    """Steps that follow each other and are alike; those that were not looked at lie between."""

    first: int  # steps count from 0
    last: int
    signs: str
    sites: int  # backward lines whose gradients are in one of these steps


@dataclass
class Course:
    """The steps of one optimizer."""

    steps: int = 0
    runs: list[Run] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of its parameters, where they were asked for
    pending: str = ""  # signs at the end of the program: what the call that failed would reach

    def note(self, signs: str, sites: int) -> None:
        """One more step."""
        last = self.runs[-1] if self.runs else None
        if last is not None and (last.signs, last.sites) == (signs, sites):
            last.last = self.steps
        elif len(self.runs) < MOST_RUNS:
            self.runs.append(Run(self.steps, self.steps, signs, sites))


class Received:
    """Keeps the course of every optimizer, and how the losses go."""

    def __init__(self, torch: Any) -> None:
        self.courses: dict[int, Course] = {}  # by id of the optimizer
        self.losses: list[float] = []  # of the first backward calls
        self.doubled = 0  # calls inside another one that go through its graph again
        self.names: Callable[[], dict[int, str]] | None = None  # by id; asked once an optimizer
        self._sites = 0
        self._own: dict[int, tuple[tuple[int, int], list[TensorLike]]] = {}
        self._largest: Callable[..., Any] = torch.linalg.vector_norm
        untold = getattr(getattr(torch, "_C", None), "DisableTorchFunction", None)
        self._untold: Callable[[], AbstractContextManager[object]] = untold or nullcontext
        """A second pass must not take a look for a use by the program."""

    def before_backward(self, call: Call, roots: list[TensorLike], outer: Call | None) -> None:
        """A loss is about to be sent back."""
        if call.kind != "backward":
            return
        if outer is not None and outer.log is call.log and _meet(call, outer):
            self.doubled += 1
        if len(self.losses) < MOST_LOSSES and len(roots) == 1 and _is_number(roots[0]):
            with self._untold():
                self.losses.append(float(roots[0].detach().double()))

    def before_step(self, optimizer: OptimizerLike, gradients: Gradients) -> None:
        """How many lines have given gradients is known only until the step has used them.

        What the program gives to a further optimizer on purpose, as a body that two heads share, is
        trained by the losses of both: only what is this optimizer's own counts.
        """
        held = parameters_of(optimizer)
        state = (len(gradients.optimizers), len(held))
        known = self._own.get(id(optimizer))
        if known is None or known[0] != state:
            known = self._own[id(optimizer)] = state, _not_shared(optimizer, gradients)
        self._sites = gradients.sites_of(known[1])

    def after_step(self, optimizer: OptimizerLike) -> None:
        """Look at what the step has used: a closure may have made it during the step."""
        course = self.courses.setdefault(id(optimizer), Course())
        number = course.steps
        if number < EVERY_STEP or number % (OFTEN if number < SELDOM_FROM else SELDOM) == 0:
            held = parameters_of(optimizer)
            if self.names is not None and not course.names:
                known = self.names()
                course.names = [known.get(id(p), f"parameter {i}") for i, p in enumerate(held)]
            with self._untold():
                course.note("".join(map(self._sign, held)), self._sites)
        course.steps += 1

    def finish(self, optimizers: Iterable[OptimizerLike], failed: Call | None) -> list[Course]:
        """The courses in the order of the optimizers."""
        reached: Collection[int] = () if failed is None else failed.versions
        found = []
        for optimizer in optimizers:
            course = self.courses.get(id(optimizer), Course())
            course.pending = "".join(
                GIVEN if id(p) in reached else NOTHING for p in parameters_of(optimizer)
            )
            found.append(course)
        return found

    def _sign(self, parameter: TensorLike) -> str:
        gradient = parameter.grad
        if gradient is None:
            return NOTHING if parameter.requires_grad else FROZEN
        if getattr(gradient, "is_sparse", False) or getattr(gradient, "is_meta", False):
            return GIVEN  # its elements cannot be asked for
        if not gradient.numel():
            return ZERO
        if not gradient.is_floating_point():  # complex: its length tells
            return GIVEN if bool(gradient.any()) else ZERO
        largest = float(self._largest(gradient.detach(), math.inf))
        return ZERO if largest == 0 else GIVEN if math.isfinite(largest) else SPOILED


def _not_shared(optimizer: OptimizerLike, gradients: Gradients) -> list[TensorLike]:
    """The parameters that no other optimizer holds; one of the very same ones is a renewed one."""
    held = parameters_of(optimizer)
    keys = {id(parameter) for parameter in held}
    shared: set[int] = set()
    for other in gradients.optimizers:
        theirs = {id(parameter) for parameter in parameters_of(other)}
        shared |= theirs & keys if theirs != keys else set()
    return [parameter for parameter in held if id(parameter) not in shared]


def _is_number(root: TensorLike) -> bool:
    return root.numel() == 1 and root.is_floating_point() and not getattr(root, "is_meta", False)


def _meet(call: Call, outer: Call) -> bool:
    """Whether two calls go through a common node."""
    return any(
        in_ranges(outer.ranges, end) or _starts_within(outer, start, end)
        for start, end in call.ranges
    )


def _starts_within(outer: Call, start: int, end: int) -> bool:
    return any(start <= first <= end for first, _ in outer.ranges)
