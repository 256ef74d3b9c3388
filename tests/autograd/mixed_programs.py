"""Random programs: drawing them, running them on both libraries, shrinking those that differ."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.autograd.mixed_sides import Abandoned, Divergence, Lockstep, Step
from tests.autograd.mixed_steps import ACTIONS, BLOCKS, KINDS, Draw

OTHERS = ("float64", "float32", "complex64", "bfloat16")
CASTS = {"float": "float32", "bfloat16": "bfloat16", "complex": "complex64"}
NAMES = tuple(KINDS)
WEIGHTS = tuple(weight for weight, _ in KINDS.values())


class Drawn:
    """A program that is drawn while it runs, so that it only names tensors that exist."""

    def __init__(self, seed: int, lockstep: Lockstep) -> None:
        self.source = random.Random(seed)
        self.other = OTHERS[seed % len(OTHERS)]  # the dtype beside float64
        self.lockstep = lockstep
        self.count = 0
        self.steps: list[Step] = []

    def run(self, length: int) -> None:
        """Draw and run that many steps (blocks count with their steps)."""
        for kind, args in (
            ("leaf", ("float64", (2, 3), True, 1)),
            ("leaf", ("float64", (2, 3), False, 2)),
            ("leaf", (None, (2, 2), True, 3)),
        ):
            if args[0] is None:
                args = (self.other, *args[1:])
            self.perform(self.make(kind, args), self.steps, 0)
        while self.count < length:
            self.perform(self.draw(), self.steps, 0)

    def make(self, kind: str, args: tuple[Any, ...]) -> Step:
        step = Step(self.count, kind, args, [])
        self.count += 1
        return step

    def draw(self) -> Step:
        side = self.lockstep.sides[0]
        draw = Draw(self.source, list(side.tensors), list(side.handles))
        kind = self.source.choices(NAMES, WEIGHTS)[0]
        if kind in ("make_dual", "unpack_dual") and not side.duals and not draw.chance(6):
            kind = "dual_level"
        if side.duals and kind in ("dual_level", "transform"):
            # PyTorch has one dual level only, and its forward transforms need it for themselves.
            kind = "make_dual"
        step = self.make(kind, KINDS[kind][1](draw))
        if step.args == ("inference_mode",) and self.is_open("mutation"):
            return self.draw()  # PyTorch asks inference tensors for their version there
        if kind == "mutation" and (
            side.library.is_inference_mode_enabled() or self.is_open("mutation")
        ):
            return self.draw()  # the second after a refused one is allowed by PyTorch
        if kind == "transform" and self.is_open("mutation"):
            return self.draw()  # PyTorch crashes
        if kind == "leaf" and step.args[0] not in ("float64", self.other):
            return self.draw()  # one coarse dtype: the tolerance is its own
        if kind == "unary" and CASTS.get(step.args[1], self.other) != self.other:
            return self.draw()
        return step

    def is_open(self, kind: str) -> bool:
        return any(step.kind == kind for step in self.lockstep.open)

    def perform(self, step: Step, record: list[Step], depth: int) -> None:
        record.append(step)
        self.lockstep.run(step, lambda: self.inside(step, depth))

    def inside(self, step: Step, depth: int) -> Iterator[Step]:
        if depth > 2:
            return
        for _ in range(self.source.randint(2, 7)):
            following = self.draw()
            if following.kind in BLOCKS:
                self.perform(following, step.inner, depth + 1)
            else:
                step.inner.append(following)
                yield following


def run_seed(torch: Any, seed: int, length: int = 22) -> Lockstep:
    """Run the program of a seed; `Divergence` with a shrunk program if the libraries differ."""
    lockstep = Lockstep(torch, ACTIONS, BLOCKS)
    drawn = Drawn(seed, lockstep)
    try:
        drawn.run(length)
    except Abandoned:
        pass
    except Divergence as first:
        steps, error = shrink(torch, drawn.steps, first)
        raise Divergence(f"seed {seed}: {error}\nsteps = {steps}") from None
    return lockstep


def replay(torch: Any, steps: list[Step]) -> Lockstep:
    """Run recorded steps."""
    lockstep = Lockstep(torch, ACTIONS, BLOCKS)
    for step in steps:
        lockstep.run(step, lambda step=step: iter(step.inner))
    return lockstep


def shrink(torch: Any, steps: list[Step], error: Divergence) -> tuple[list[Step], Divergence]:
    """Take out steps as long as the libraries still differ, in the same kind of thing."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(steps):
            try:
                replay(torch, smaller)
            except Abandoned:
                continue
            except Divergence as found:
                if _topic(found) == _topic(error):
                    steps, error, changed = smaller, found, True
                    break
    return steps, error


def _topic(error: Divergence) -> str:
    return str(error).rpartition("\n")[2].split(":")[0].rstrip("0123456789")


def _smaller(steps: list[Step]) -> Iterator[list[Step]]:
    """Programs with one step less, one block unwrapped, or less inside one block."""
    for index in reversed(range(len(steps))):
        step = steps[index]
        before, after = steps[:index], steps[index + 1 :]
        yield before + after
        if step.kind in BLOCKS:
            yield before + step.inner + after
            for inner in _smaller(step.inner):
                yield [*before, step._replace(inner=inner), *after]
        for position, argument in enumerate(step.args):
            if isinstance(argument, tuple) and argument and isinstance(argument[0], tuple):
                for cut in range(len(argument)):
                    shorter = argument[:cut] + argument[cut + 1 :]
                    args = (*step.args[:position], shorter, *step.args[position + 1 :])
                    if shorter:
                        yield [*before, step._replace(args=args), *after]
