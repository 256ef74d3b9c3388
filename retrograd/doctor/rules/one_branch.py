"""Gradients that are cleared in one branch only, or only up to some step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.records import DirtyStep, OptimizerStep, ZeroGrad
from retrograd.watching.torch_types import OptimizerLike

TIMES = 2  # steps that must have shown it
LONGER = 3  # times as long as any stretch without clearing before


def diagnose(
    watched: Watched, optimizer: OptimizerLike, dirty: list[DirtyStep], clears: list[ZeroGrad]
) -> Diagnosis | None:
    """What an optimizer shows that is cleared now and then, in the very loop of its steps."""
    log, last = watched.tracer.log, dirty[-1]
    cleared, added = log.place_of(clears[-1].stack), last.call.log.place_of(last.call.stack)
    step = log.place_of(last.stack)
    if cleared is None or added is None or step is None:
        return None
    branch = _branch_around(cleared, added)
    if branch is None or not (_is_apart(watched, optimizer, dirty) or _goes_on(watched, dirty)):
        return None
    return Diagnosis(
        cause="zero-grad-misuse",
        title="the gradients are cleared in one branch only",
        why=f"zero_grad() in line {cleared.line} stands behind the condition of line {branch}. "
        f"{len(dirty)} steps came without it: they used gradients to which those of earlier "
        "steps were still added.",
        error_line=step,
        created_at=list(dict.fromkeys([cleared, added, step])),
        fixes=[
            Fix("zero-grad", added, "clear the gradients before this backward() too"),
            Fix("zero-grad", step, "or right after the step"),
        ],
        spans=[
            Span("cleared", cleared, log.places_of(clears[-1].stack)),
            Span("added", added, last.call.log.places_of(last.call.stack)),
            Span("stepped", step, log.places_of(last.stack)),
        ],
        facts={"steps": len(dirty), "cleared": len(clears)},
    )


def _branch_around(cleared: Place, added: Place) -> int | None:
    """The line of the condition behind which a line stands, and another one does not."""
    for node in ast.walk(source.tree_of(cleared.file)):
        if isinstance(node, ast.If):
            for block in (node.body, node.orelse):
                if _holds(block, cleared.line):
                    inside = added.file == cleared.file and _holds(block, added.line)
                    if not inside:
                        return node.lineno
    return None


def _holds(block: list[ast.stmt], line: int) -> bool:
    return bool(block) and block[0].lineno <= line <= (block[-1].end_lineno or 0)


def _is_apart(watched: Watched, optimizer: OptimizerLike, dirty: list[DirtyStep]) -> bool:
    """Whether some backward lines always meet cleared gradients, and others never."""
    unclean = {each.call.index for each in dirty}
    sites = {each.call.site for each in dirty}
    others: set[tuple[int, int]] = set()
    for before, step in pairwise(_steps(watched, optimizer)):
        calls = watched.recorder.calls[before.calls : step.calls]
        if not any(call.index in unclean for call in calls):
            others.update(call.site for call in calls if call.kind == "backward")
    return bool(others) and not sites & others


def _goes_on(watched: Watched, dirty: list[DirtyStep]) -> bool:
    """Whether nothing was cleared any more up to the end, far longer than ever before."""
    unclean = {each.call.index for each in dirty}
    lengths = [0]
    for before, step in pairwise(_steps(watched, dirty[-1].optimizer)):
        if any(call.index in unclean for call in watched.recorder.calls[before.calls : step.calls]):
            lengths[-1] += 1
        elif lengths[-1]:
            lengths.append(0)
    *earlier, last = lengths
    return last > max(TIMES, LONGER * max(earlier, default=0))


def _steps(watched: Watched, optimizer: OptimizerLike) -> Iterator[OptimizerStep]:
    return (step for step in watched.recorder.gradients.steps if step.optimizer is optimizer)
