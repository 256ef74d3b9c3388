"""What repeated between two calls: a loop of the program, or one inside a library.

Two calls of the same line tell nothing by their line numbers. Their stacks are compared from the
outside: the same activation that went back to the head of a loop has gone on to another iteration;
the same chain in another activation was called again by a loop elsewhere. Where both stacks end in
one and the same call of a library (`trainer.fit(model)`), the user's function that the library has
called again in between is what repeats: `training_step`, `compute_loss`, `forward`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Place
from retrograd.watching.lines import LEAF, Step
from retrograd.watching.records import Call
from retrograd.watching.source import Loop, loops_around


@dataclass(frozen=True)
class Repetition:
    """Something ran again: the frame of the stack it is in, and the loop if the program has it."""

    level: int  # index into the stacks of both calls; their length if it is called beside them
    chain: int
    file: str
    loop: Loop | None  # None: another activation of the same function, called by a library

    def holds(self, stack: list[tuple[int, Place]]) -> bool:
        """Whether a stack passes through what is repeated."""
        for chain, place in stack:
            if chain == self.chain:
                return self.loop is None or self.loop.holds(place.line)
        return False


def between(first: Call, second: Call) -> Repetition | None:
    """What repeated from one call to the other; None if they are of one pass."""
    if first.log is not second.log:
        return None
    chains = first.log.chains
    edges = first.log.edges_between(first.edges, second.edges)
    for level, (before, after) in enumerate(zip(first.stack, second.stack, strict=False)):
        if before.chain != after.chain:
            return None
        file = chains.file_of(after.chain)
        if before.activation != after.activation:
            return Repetition(level, after.chain, file, None)
        heads = {
            edge.line
            for edge in edges
            if edge.chain == after.chain and edge.activation == after.activation
        }
        for loop in loops_around(file, after.line):
            # an inner loop that is exhausted also goes back to its head: both calls must be in it
            if loop.header in heads and loop.holds(before.line):
                return Repetition(level, after.chain, file, loop)
        if before.line != after.line:
            return None
    return _called_again(first, second) if first.stack == second.stack else None


def _called_again(first: Call, second: Call) -> Repetition | None:
    """The user's function that a library has called before each of two backward calls of its own.

    The loop is the library's, so the stacks of the calls do not differ. The function that was left
    last before the second call is nearest to its loss.
    """
    if not second.stack:
        return None
    log, caller = second.log, second.stack[-1]
    start, end = (bisect_left(log.numbers, call.start) for call in (first, second))
    earlier = {site[0]: site[2] for site in log.sites[:start]}
    for chain, _, activation in reversed(log.sites[start:end]):
        known = log.chains.known[chain]
        if known is None or (known.parent, known.parent_line) != (caller.chain, caller.line):
            continue
        if earlier.get(chain, activation) != activation:
            return Repetition(len(second.stack), chain, known.code.co_filename, None)
    return None


def is_called_beside(call: Call, repetition: Repetition | None) -> bool:
    """Whether what repeats is a function that a library calls beside a backward of its own."""
    return repetition is not None and repetition.level >= len(call.stack)


def iteration_of(call: Call, repetition: Repetition) -> int:
    """Which pass of the loop (or which call of the function) a call belongs to, from 1."""
    beside = is_called_beside(call, repetition)
    step = Step(repetition.chain, LEAF, 0) if beside else call.stack[repetition.level]
    if repetition.loop is None:
        seen: dict[int, None] = {}
        for number, site in zip(call.log.numbers, call.log.sites, strict=True):
            # beside: the next call of the function may begin before anything else is made
            if number > call.start or (beside and number == call.start):
                break
            if site[0] == step.chain:
                seen[site[2]] = None
        earlier = [activation for activation in seen if activation < step.activation]
        return len(earlier) if beside else len(earlier) + 1
    return 1 + call.log.turns_before(call.edges, step.activation, repetition.loop.header)


def in_words(call: Call, repetition: Repetition | None) -> str:
    """ "iteration 2 of the loop in line 36", or "" where nothing repeats."""
    if repetition is None:
        return ""
    count = iteration_of(call, repetition)
    if repetition.loop is None:
        name = call.log.chains.of(repetition.chain).code.co_name
        return f"call {count} of {name}"
    return f"iteration {count} of the loop in line {repetition.loop.header}"


def made_by_outer_loop(stack: list[tuple[int, Place]], call: Call, repetition: Repetition) -> bool:
    """Whether a loop further out than what repeats runs both the making and the failing call."""
    return next(_outer_loops(stack, call, repetition), None) is not None


def outer_went_round(
    stack: list[tuple[int, Place]], number: int, call: Call, repetition: Repetition
) -> bool:
    """Whether such a loop has gone on to another pass between the making and a call."""
    # a jump has the number of the next node: the one before the making has its own
    edges = call.log.edges_between(call.log.position_at(number + 1), call.edges)
    return any(
        edge.line == loop.header and edge.activation == step.activation
        for step, loop in _outer_loops(stack, call, repetition)
        for edge in edges
    )


def _outer_loops(
    stack: list[tuple[int, Place]], call: Call, repetition: Repetition
) -> Iterator[tuple[Step, Loop]]:
    """The loops further out than what repeats, around both a stack and a call."""
    chains = call.log.chains
    steps: list[Step] = call.stack[: repetition.level + 1]
    for level, step in enumerate(steps):
        for loop in loops_around(chains.file_of(step.chain), step.line):
            if level == repetition.level and loop == repetition.loop:
                break
            if any(chain == step.chain and loop.holds(place.line) for chain, place in stack):
                yield step, loop
