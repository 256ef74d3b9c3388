"""The last micro-batches of an epoch, too few for a step: their gradients go into the next epoch's.

Gradients are collected over so many batches, counted anew in each epoch. Where the number does not
divide that of the batches, some are left, and the first step of the next epoch uses them as well.
A count that goes on through the epochs has no such steps: all use equally many.
"""

from __future__ import annotations

import ast
from collections import Counter
from itertools import pairwise

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import repeats
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.records import Call, UsedGradients

TIMES = 2  # steps that must have used what was left


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis for each optimizer."""
    gradients = watched.recorder.gradients
    found = []
    for optimizer in gradients.optimizers:
        uses = [u for u in gradients.uses if u.optimizer is optimizer and u.sites == 1]
        diagnosis = _judge(watched, uses)
        if diagnosis is not None:
            found.append(diagnosis)
    return found


def _judge(watched: Watched, uses: list[UsedGradients]) -> Diagnosis | None:
    """Evidence in numbers: a step uses what was left, and as many as any other step besides."""
    whole: set[int] = set()  # batches of the steps within one epoch
    mixed: list[tuple[UsedGradients, int]] = []  # with the place where the next epoch begins
    innermost = _innermost(uses)
    for used in uses:
        begins = [
            position
            for position, pair in enumerate(pairwise(used.calls), 1)
            if _kind(*pair) != innermost
        ]
        if not begins:
            whole.add(len(used.calls))
        elif len(begins) == 1:
            mixed.append((used, begins[0]))
        else:
            return None
    if len(whole) != 1 or len(mixed) < TIMES:
        return None
    size = whole.pop()
    if any(not left < size == len(used.calls) - left for used, left in mixed):
        return None
    return _diagnosis(watched, mixed[-1][0], mixed[-1][1], size, len(mixed))


Kind = tuple[int, int]


def _kind(first: Call, second: Call) -> Kind | None:
    """What repeats between two calls: how deep in the stack, and in which loop."""
    repetition = repeats.between(first, second)
    if repetition is None or repetition.loop is None:
        return None
    return repetition.level, repetition.loop.header


def _innermost(uses: list[UsedGradients]) -> Kind | None:
    """The loop over the batches."""
    kinds = Counter(_kind(*pair) for used in uses for pair in pairwise(used.calls))
    known = [kind for kind in kinds if kind is not None]
    return max(known, default=None)


def _diagnosis(
    watched: Watched, used: UsedGradients, left: int, size: int, times: int
) -> Diagnosis | None:
    log, call = watched.tracer.log, used.calls[0]
    step, added = log.place_of(used.stack), call.log.place_of(call.stack)
    if step is None or added is None:
        return None
    condition = _condition_of(step)
    where = step if condition is None else condition
    loops = source.loops_around(added.file, added.line)
    fixes = [Fix("reorder-step", where, "make a step after the last batch of an epoch too")]
    if loops:
        start = Place(added.file, loops[-1].header, added.function)
        fixes.append(Fix("zero-grad", start, "or begin each epoch with cleared gradients"))
    batches = "batch" if left == 1 else "batches"
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"gradients of the last {left} {batches} of an epoch are left for the next one",
        why=f"A step follows every {size} batches, counted anew in each epoch, and the number of "
        f"batches is no multiple of that. {times} steps used the gradients of {left} {batches} of "
        f"the epoch before beside their own {size}: they were taken at other parameters.",
        error_line=step,
        created_at=list(dict.fromkeys([where, added, step])),
        fixes=fixes,
        spans=[
            Span("added", added, call.log.places_of(call.stack)),
            *([Span("asked", where)] if where != step else []),
            Span("stepped", step, log.places_of(used.stack)),
        ],
        facts={"steps": times, "left": left, "batches": size},
    )


def _condition_of(step: Place) -> Place | None:
    """The innermost condition that a step stands behind."""
    lines = [
        node.lineno
        for node in ast.walk(source.tree_of(step.file))
        if isinstance(node, ast.If) and node.lineno <= step.line <= (node.end_lineno or 0)
    ]
    return Place(step.file, max(lines), step.function) if lines else None
