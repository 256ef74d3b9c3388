"""What a change has done to the training: a trial beside the program as it was meant.

Meant is the original up to its failure, with what the call that failed would have reached, and
for a silent fault the whole original. Compared is, step by step and for each parameter of each
optimizer, whether there is a gradient and whether it is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from retrograd.doctor.result import Result
from retrograd.watching.received import FROZEN, GIVEN, NOTHING, SPOILED, ZERO, Course

ENOUGH = 2  # steps without a gradient that say: never again
SHOWN = 3  # names in a sentence


@dataclass
class Pair:
    """One parameter in both runs: a sign for each step that was looked at."""

    name: str
    meant: list[tuple[int, str]]
    now: list[tuple[int, str]]
    steps: int  # of its optimizer before the original failed
    pending: bool  # the call that failed would have reached it

    @property
    def was_given(self) -> bool:
        """Whether it had a gradient other than zero."""
        return any(sign == GIVEN for _, sign in self.meant)

    @property
    def is_frozen(self) -> bool:
        """Whether the program wants no gradient for it, at some time."""
        return any(sign == FROZEN for _, sign in [*self.meant, *self.now])

    @property
    def is_idle(self) -> bool:
        """Whether no step of the trial has had a gradient other than zero."""
        return not any(sign == GIVEN for _, sign in self.now)


def pairs(first: Result, now: Result) -> Iterator[Pair]:
    """The parameters that both runs have: of the same optimizer, at the same position."""
    for meant, found in zip(first.courses, now.courses, strict=False):
        names = found.names
        for index in range(min(len(meant.pending), len(found.pending))):
            name = names[index] if index < len(names) else f"parameter {index}"
            pending = bool(first.error) and meant.pending[index] == GIVEN
            yield Pair(name, _signs(meant, index), _signs(found, index), meant.steps, pending)


def _signs(course: Course, index: int) -> list[tuple[int, str]]:
    """The sign of a parameter at the first and the last step of each run of equal ones."""
    found = []
    for run in course.runs:
        if index < len(run.signs):  # groups may be added later
            found += [(step, run.signs[index]) for step in sorted({run.first, run.last})]
    return found


def harm(
    first: Result,
    now: Result,
    leftovers: bool = False,
    other_lengths: bool = False,
    other_choices: bool = False,
) -> str:
    """What the change has broken, in a sentence; "" if nothing is seen.

    leftovers      gradients were used that should have been cleared: what only those gave is not
                   missed
    other_lengths  the steps get another length, and the training goes another way: that gradients
                   become exactly zero on it is the training's matter, as of units that died
    other_choices  what chooses among experts is trained now: that another expert goes without is
                   the training's matter as well
    """
    if leftovers and not first.error:
        return _nothing_left(first, now) or _mixed(first, now)
    if now.doubled > first.doubled:
        return "a backward inside a backward goes through its graph again: gradients count twice"
    lost: list[str] = []
    vanished: list[str] = []
    spoiled: list[str] = []
    faded: dict[int, list[str]] = {}
    for pair in pairs(first, now):
        if any(s == SPOILED for _, s in pair.now) and not any(s == SPOILED for _, s in pair.meant):
            spoiled.append(pair.name)
        if pair.is_frozen or not pair.now or other_choices:
            continue
        if pair.is_idle and pair.was_given:
            zero = any(sign == ZERO for _, sign in pair.now)
            (vanished if zero else lost).append(pair.name)
        elif pair.is_idle and pair.pending and not any(s == ZERO for _, s in pair.now):
            lost.append(pair.name)
        else:
            since = _faded(pair, first)
            if since and not (other_lengths and pair.now[-1][1] == ZERO):
                faded.setdefault(since, []).append(pair.name)
    if spoiled:
        return f"the gradient of {named(spoiled)} would be inf or nan"
    if lost:
        return f"{named(lost)} would no longer get a gradient"
    if vanished:
        return f"the gradient of {named(vanished)} would be exactly zero"
    for since, names in sorted(faded.items()):
        plural = len(names) > 1
        return (
            f"after iteration {since} {named(names)} get{'s' * (not plural)} no gradient any more"
        )
    return _mixed(first, now)


def _nothing_left(first: Result, now: Result) -> str:
    """Whether an optimizer now finds no gradient at any step, or only zeros."""
    for _, found in zip(first.courses, now.courses, strict=False):
        signs = "".join(run.signs for run in found.runs)
        if found.runs and GIVEN not in signs and set(signs) & {ZERO, NOTHING}:
            return f"no step would change {_owner(found.names)}"
    return ""


def _faded(pair: Pair, first: Result) -> int:
    """After how many steps a parameter gets nothing any more, because of the change; else 0."""
    given = [step for step, sign in pair.now if sign == GIVEN]
    if not given:
        return 0
    last = given[-1]
    after = [step for step, _ in pair.now if step > last]
    if not after or after[-1] - last < ENOUGH:
        return 0
    if first.error:
        # the first step without one is the one that failed, or one before it
        return last + 1 if last < pair.steps + 1 and (pair.pending or pair.was_given) else 0
    goes_on = any(sign == GIVEN and step > last for step, sign in pair.meant)
    return last + 1 if goes_on and pair.meant[-1][1] == GIVEN else 0


def died(first: Result, now: Result) -> str:
    """Whose gradients become exactly zero in the trial and not before, in words; "" if none."""
    faded = [(_faded(pair, first), pair) for pair in pairs(first, now) if not pair.is_frozen]
    names = [pair.name for since, pair in faded if since and pair.now[-1][1] == ZERO]
    since = min((since for since, pair in faded if since and pair.now[-1][1] == ZERO), default=0)
    if not names:
        return ""
    return (
        f"after iteration {since} the gradient of {named(names)} is exactly zero: the steps may "
        "be too long for the learning rate"
    )


def _mixed(first: Result, now: Result) -> str:
    """A step that now also uses what the loss of another optimizer has left."""
    if len(first.courses) < 2:
        return ""
    for meant, found in zip(first.courses, now.courses, strict=False):
        if not meant.runs or not found.runs or meant.runs[0].sites != 1:
            continue
        if found.runs[0].sites > 1:
            whose = _owner(found.names)
            return f"the step of {whose} would also use gradients of another optimizer's loss"
    return ""


def _owner(names: list[str]) -> str:
    """What all names begin with: `agent.critic` of its layers."""
    parts = list(zip(*(name.split(".")[:-1] for name in names), strict=False))
    shared = ".".join(part[0] for part in takewhile(lambda part: len(set(part)) == 1, parts))
    return shared or "an optimizer"


def idle(first: Result, now: Result) -> list[str]:
    """Parameters that the program as meant reaches, and that no step of the trial moves."""
    return [
        pair.name
        for pair in pairs(first, now)
        if pair.now and pair.is_idle and not pair.is_frozen and (pair.pending or pair.meant)
        if pair.pending or any(sign == ZERO for _, sign in pair.meant)
    ]


def gained(first: Result, now: Result) -> list[str]:
    """Parameters that get a gradient only now."""
    return [
        pair.name
        for pair in pairs(first, now)
        if pair.meant and not pair.was_given and not pair.is_idle and not pair.pending
    ]


def losses_in_words(now: Result) -> str:
    """How the loss goes, if all that the trial sent back came from one line; "" else."""
    if len(now.courses) != 1 or len(now.losses) < ENOUGH:
        return ""
    if any(run.sites != 1 for run in now.courses[0].runs):
        return ""
    first, last = now.losses[0], now.losses[-1]
    return f"the loss goes from {first:.3g} to {last:.3g} in {len(now.losses)} calls"


def named(names: list[str]) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`."""
    if len(names) > SHOWN + 1:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
