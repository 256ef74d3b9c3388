"""Random programs: drawing them, running them on both libraries, shrinking those that differ."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.autograd.mixed_sides import TOLERANCE, Abandoned, Divergence, Lockstep, Step
from tests.autograd.mixed_steps import ACTIONS, BLOCKS, KINDS, Draw

OTHERS = (
    "float64", "float32", "complex64", "bfloat16", "float16", "complex128", "int64", "bool",
    "uint8", "int32", "int8", "int16",
)  # fmt: skip
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
        differentiable = self.other in TOLERANCE
        for args in (
            ("float64", (2, 3), True, 1),
            ("float64", (2, 3), False, 2),
            (self.other, (2, 2), differentiable, 3),
        ):
            self.perform(self.make("leaf", args), self.steps, 0)
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
        if kind == "leaf":  # one coarse dtype: the tolerance is its own
            dtype = "float64" if step.args[0] == "float64" else self.other
            step = step._replace(args=(dtype, *step.args[1:]))
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


class Found(Divergence):
    """The shrunk program of a seed whose outcomes differ."""

    def __init__(self, seed: int, steps: list[Step], error: Divergence, brief: bool) -> None:
        super().__init__(f"seed {seed}: {error}\nsteps = {steps}")
        self.steps, self.error, self.brief = steps, error, brief


def run_seed(torch: Any, seed: int, length: int = 22, brief: bool = False) -> Lockstep:
    """Run the program of a seed; `Found` with a shrunk program if the libraries differ."""
    lockstep = Lockstep(torch, ACTIONS, BLOCKS, brief)
    drawn = Drawn(seed, lockstep)
    try:
        drawn.run(length)
        lockstep.settle()
    except Abandoned:
        pass
    except Divergence as first:
        error = first
        if brief:  # the first step after which anything differs, if looking does not change it
            try:
                replay(torch, drawn.steps)
            except Abandoned:
                return lockstep
            except Divergence as earlier:
                error, brief = earlier, False
        raise Found(seed, *shrink(torch, drawn.steps, error, brief), brief) from None
    return lockstep


def replay(torch: Any, steps: list[Step], brief: bool = False) -> Lockstep:
    """Run recorded steps."""
    lockstep = Lockstep(torch, ACTIONS, BLOCKS, brief)
    for step in steps:
        lockstep.run(step, lambda step=step: iter(step.inner))
    lockstep.settle()
    return lockstep


def shrink(
    torch: Any, steps: list[Step], error: Divergence, brief: bool = False
) -> tuple[list[Step], Divergence]:
    """Take out steps as long as the libraries still differ, in the same kind of thing."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(steps):
            try:
                replay(torch, smaller, brief)
            except Abandoned:
                continue
            except Divergence as found:
                if topic(found) == topic(error):
                    steps, error, changed = smaller, found, True
                    break
    return steps, error


def topic(error: Divergence) -> str:
    """What differs: an outcome, a warning, what hooks saw, or a fact of a tensor."""
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
