"""Gradients cleared too late, too early, too often, or never."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import one_branch
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.lines import Step
from retrograd.watching.records import Call, DirtyStep, EmptyStep, WastedBackward, ZeroGrad
from retrograd.watching.torch_types import OptimizerLike

TIMES = 2  # equal observations before anything is said


class Observed(Protocol):
    """What the observations of the recorder have in common."""

    stack: list[Step]
    optimizer: OptimizerLike


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis for each optimizer."""
    gradients = watched.recorder.gradients
    found: list[Diagnosis] = []
    for optimizer in gradients.optimizers:
        steps = [step for step in gradients.steps if step.optimizer is optimizer]
        dirty = [each for each in gradients.dirty if each.optimizer is optimizer]
        empty = [each for each in gradients.empty if each.optimizer is optimizer]
        wasted = [each for each in gradients.wasted if each.optimizer is optimizer]
        diagnosis = None
        # a step without gradients means a fault only if none ever has any, once there were some
        judged = [step for step in steps if step.calls]
        if len(empty) >= TIMES and len(empty) >= min(len(judged), 4):
            diagnosis = _empty(watched, empty)
        elif len(dirty) >= TIMES and len(dirty) * 2 >= len(steps) - 1:
            diagnosis = _dirty(watched, dirty, optimizer)
        elif len(wasted) >= TIMES and len(wasted) * 2 > len(steps):
            diagnosis = _wasted(watched, wasted)
        if diagnosis is not None:
            found.append(diagnosis)
    return found or _manual(watched)


def _place(watched: Watched, stack: list[Step]) -> Place | None:
    return watched.tracer.log.place_of(stack)


def _span(watched: Watched, label: str, stack: list[Step]) -> list[Span]:
    places = watched.tracer.log.places_of(stack)
    return [Span(label, places[-1], places)] if places else []


def _sites(watched: Watched, observed: Sequence[Observed]) -> int:
    """How often the most frequent line was seen."""
    seen: dict[Place | None, int] = {}
    for each in observed:
        place = _place(watched, each.stack)
        seen[place] = seen.get(place, 0) + 1
    return max(seen.values(), default=0)


def _empty(watched: Watched, empty: list[EmptyStep]) -> Diagnosis | None:
    last = empty[-1]
    step, cleared = _place(watched, last.stack), _place(watched, last.cleared.stack)
    by_hand = not last.cleared.stack
    if by_hand and step is not None:
        cleared = _cleared_by_hand(step)
    if step is None or cleared is None or _sites(watched, empty) < TIMES:
        return None
    sent = _sent_after(watched, step, last)
    if sent is not None:
        return _stepped_too_soon(watched, empty, cleared, sent)
    clearing = f"line {cleared.line}" if by_hand else "zero_grad()"
    return Diagnosis(
        cause="zero-grad-misuse",
        title="the gradients are cleared between backward() and step()",
        why=f"In all {len(empty)} steps that were looked at the optimizer found no gradient: "
        f"{clearing} had thrown away what backward() had just computed. Nothing is trained.",
        error_line=step,
        created_at=[cleared],
        fixes=[Fix("reorder-step", cleared, "clear before backward(), or after step()")],
        spans=(_span(watched, "cleared", last.cleared.stack) or [Span("cleared", cleared)])
        + _span(watched, "stepped", last.stack),
        facts={"steps": len(empty)},
    )


def _sent_after(watched: Watched, step: Place, empty: EmptyStep) -> Call | None:
    """The backward whose gradients were dropped, if it stands behind the step in the same loop."""
    calls = watched.recorder.calls[: empty.cleared.calls]
    call = calls[-1] if calls and empty.cleared.stack else None
    place = None if call is None else call.log.place_of(call.stack)
    if place is None or place.file != step.file or place.line <= step.line:
        return None
    loops = [source.loops_around(each.file, each.line)[-1:] for each in (step, place)]
    around = [source.function_around(each.file, each.line) for each in (step, place)]
    return call if loops[0] == loops[1] and around[0] is around[1] else None


def _stepped_too_soon(
    watched: Watched, empty: list[EmptyStep], cleared: Place, sent: Call
) -> Diagnosis | None:
    last = empty[-1]
    step, added = _place(watched, last.stack), sent.log.place_of(sent.stack)
    if step is None or added is None:
        return None
    return Diagnosis(
        cause="zero-grad-misuse",
        title="the optimizer steps before backward() has given it gradients",
        why=f"In all {len(empty)} steps that were looked at the optimizer found no gradient: the "
        f"backward() in line {added.line} comes after the step, and zero_grad() in line "
        f"{cleared.line} throws away what it gives before the next step. Nothing is trained.",
        error_line=step,
        created_at=list(dict.fromkeys([step, added, cleared])),
        fixes=[Fix("reorder-step", step, "step after backward(), before gradients are cleared")],
        spans=_span(watched, "cleared", last.cleared.stack)
        + _span(watched, "stepped", last.stack)
        + _span(watched, "sent back", sent.stack),
        facts={"steps": len(empty)},
    )


def _cleared_by_hand(step: Place) -> Place | None:
    """The last line before a step that sets `.grad` to None or zero, in the file of the step."""
    lines = [
        node.lineno
        for node in ast.walk(source.tree_of(step.file))
        if isinstance(node, ast.stmt) and node.lineno < step.line and _empties(node)
    ]
    return Place(step.file, max(lines), step.function) if lines else None


def _empties(node: ast.stmt) -> bool:
    """`p.grad = None`, `p.grad.zero_()`."""
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Attribute) and t.attr == "grad" for t in node.targets)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    function = node.value.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("zero_", "fill_", "mul_")
        and isinstance(function.value, ast.Attribute)
        and function.value.attr in ("grad", "data")
    )


def _dirty(watched: Watched, dirty: list[DirtyStep], optimizer: OptimizerLike) -> Diagnosis | None:
    last = dirty[-1]
    step, added = _place(watched, last.stack), last.call.log.place_of(last.call.stack)
    if step is None or added is None or _sites(watched, dirty) < TIMES:
        return None
    clears = [zero for zero in watched.recorder.gradients.zeros if zero.owner is optimizer]
    if any(_in_same_loop(watched, zero.stack, last.stack) for zero in clears):
        # cleared now and then, in the very loop: only a fixed number of steps tells what is meant
        period = _period(watched, optimizer)
        if period is None:
            return one_branch.diagnose(watched, optimizer, dirty, clears)
        return _stepped_too_often(watched, dirty, clears[-1], period)
    wrong = _meant_for_it(watched, last)
    fixes = [
        Fix("zero-grad", added, "clear this optimizer's gradients before each backward()"),
        Fix("zero-grad", step, "or right after the step"),
    ]
    why = (
        f"{len(dirty)} steps used gradients to which those of earlier iterations were still "
        "added: backward() adds to .grad, and nothing cleared it since the step before."
    )
    notes = []
    if clears:
        outer = _place(watched, clears[-1].stack)
        if outer is not None:
            notes.append(f"zero_grad() in line {outer.line} runs outside the loop of the steps.")
            fixes.append(Fix("reorder-step", outer, "or move this zero_grad() into the loop"))
    elif wrong is not None:
        notes.append(f"Line {wrong.line} clears another optimizer, which has its own line.")
        fixes.insert(0, Fix("zero-grad", wrong, "clear this optimizer here, not the other again"))
    if step.file == added.file and step.line < added.line:
        fixes.append(Fix("reorder-step", step, "or step after backward(), if it is cleared later"))
    return Diagnosis(
        cause="zero-grad-misuse",
        title="the gradients are not cleared between the steps",
        why=why,
        error_line=step,
        created_at=list(dict.fromkeys([added, step])),
        fixes=fixes,
        spans=_span(watched, "added", last.call.stack) + _span(watched, "stepped", last.stack),
        notes=notes,
        facts={
            "steps": len(dirty),
            "cleared": len(clears),
            # a closure that the step itself calls
            "of_step": last.call.stack[: len(last.stack)] == last.stack,
        },
    )


def _period(watched: Watched, optimizer: OptimizerLike) -> int | None:
    """How many steps lie between two clearings, if it is always the same number above one.

    One backward call before each of the steps: gradients are collected over so many batches, and
    each of them is used again and again.
    """
    gradients = watched.recorder.gradients
    steps = [s for s in gradients.steps if s.optimizer is optimizer]
    cleared = sorted({zero.calls for zero in gradients.zeros if zero.owner is optimizer})
    if len(steps) < 2 or len({step.calls for step in steps}) < len(steps):
        return None
    inner = [c for c in cleared if steps[0].calls <= c <= steps[-1].calls]
    # step.calls counts the backward calls before a step: those of one clearing have one interval
    lengths = [
        sum(1 for step in steps if low < step.calls <= high) for low, high in pairwise(inner)
    ]
    if len(lengths) < TIMES or len(set(lengths)) != 1 or lengths[0] < 2:
        return None
    return lengths[0]


def _stepped_too_often(
    watched: Watched, dirty: list[DirtyStep], cleared: ZeroGrad, period: int
) -> Diagnosis | None:
    last = dirty[-1]
    step, added = _place(watched, last.stack), last.call.log.place_of(last.call.stack)
    clearing = _place(watched, cleared.stack)
    if step is None or added is None or clearing is None:
        return None
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"the optimizer steps {period} times before its gradients are cleared",
        why=f"Gradients are collected over {period} backward calls, but a step follows each of "
        f"them: what the first one gave is used {period} times. {len(dirty)} steps used gradients "
        "that a step had used before.",
        error_line=step,
        created_at=list(dict.fromkeys([step, added, clearing])),
        fixes=[
            Fix("reorder-step", step, "step only where the gradients are cleared, just before"),
            Fix("zero-grad", added, "or clear them before each backward()"),
        ],
        spans=_span(watched, "added", last.call.stack)
        + _span(watched, "stepped", last.stack)
        + _span(watched, "cleared", cleared.stack),
        facts={"steps": len(dirty), "period": period},
    )


def _manual(watched: Watched) -> list[Diagnosis]:
    """Parameters changed by hand, `w -= rate * w.grad`, and their gradients never cleared."""
    manual = watched.recorder.gradients.manual
    if len(set(manual)) < TIMES or watched.recorder.gradients.optimizers:
        return []
    last = manual[-1]
    added = last.log.place_of(last.stack)
    update = None if added is None else _update_after(added)
    if added is None or update is None:
        return []
    return [
        Diagnosis(
            cause="zero-grad-misuse",
            title="the gradients are not cleared between the updates",
            why=f"{len(set(manual))} backward calls added to gradients that an update had already "
            "used: backward() adds to .grad, and nothing cleared it.",
            error_line=update,
            created_at=[added, update],
            fixes=[
                Fix("zero-grad", update, "set .grad to None, or zero it, after the update"),
                Fix("zero-grad", added, "or before backward()"),
            ],
            spans=[*_span(watched, "added", last.stack), Span("used", update)],
            facts={"calls": len(set(manual))},
        )
    ]


def _update_after(added: Place) -> Place | None:
    """The line that uses `.grad` in the loop or function of a backward call."""
    loops = source.loops_around(added.file, added.line)
    lines = [
        node.lineno
        for node in ast.walk(source.tree_of(added.file))
        if isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and isinstance(source.statement_at(added.file, node.lineno), (ast.Assign, ast.AugAssign))
        and (not loops or loops[-1].holds(node.lineno))
    ]
    return Place(added.file, max(lines), added.function) if lines else None


def _in_same_loop(watched: Watched, cleared: list[Step], stepped: list[Step]) -> bool:
    """Whether the innermost loop around the step clears too, itself or in what it calls."""
    chains = watched.tracer.log.chains
    for level in range(len(stepped) - 1, -1, -1):
        step = stepped[level]
        loops = source.loops_around(chains.file_of(step.chain), step.line)
        if loops:
            clear = cleared[level] if level < len(cleared) else None
            return clear is not None and clear.chain == step.chain and loops[-1].holds(clear.line)
    return False


def _meant_for_it(watched: Watched, last: DirtyStep) -> Place | None:
    """The line right before the backward that clears another optimizer, which has its own line."""
    zeros = watched.recorder.gradients.zeros
    near = [zero for zero in zeros if zero.calls == last.call.index]
    if not near or near[-1].owner is last.optimizer:
        return None
    wrong = _place(watched, near[-1].stack)
    owners = {_place(watched, zero.stack) for zero in zeros if zero.owner is near[-1].owner}
    return wrong if len(owners) > 1 else None


def _wasted(watched: Watched, wasted: list[WastedBackward]) -> Diagnosis | None:
    last = wasted[-1]
    step, cleared = _place(watched, last.stack), _place(watched, last.cleared.stack)
    added = last.call.log.place_of(last.call.stack)
    if step is None or cleared is None or added is None or _sites(watched, wasted) < TIMES:
        return None
    fixes = [
        Fix("reorder-step", cleared, "clear once, after the step that uses the sum"),
        Fix("zero-grad", step, "clear here, and not between the backward calls"),
    ]
    if _in_a_loop_before(cleared, step):
        fixes = [
            Fix("zero-grad", cleared, "clear once, before the loop whose gradients add up"),
            Fix("reorder-step", cleared, "or step in each pass, where they are cleared"),
        ]
    return Diagnosis(
        cause="zero-grad-misuse",
        title="gradients are cleared before any step has used them",
        why=f"Before each of {len(wasted)} steps the same backward() ran up to "
        f"{max(each.times for each in wasted) + 1} times, and zero_grad() threw away all but the "
        "last of its gradients: they are not accumulated.",
        error_line=step,
        created_at=[cleared],
        fixes=fixes,
        spans=_span(watched, "added", last.call.stack)
        + _span(watched, "cleared", last.cleared.stack)
        + _span(watched, "stepped", last.stack),
        facts={"steps": len(wasted)},
    )


def _in_a_loop_before(cleared: Place, step: Place) -> bool:
    """Whether a loop clears, and the step comes after it: it means the gradients of all passes."""
    function = source.function_around(cleared.file, cleared.line)
    if cleared.file != step.file or source.function_around(step.file, step.line) is not function:
        return False
    loops = source.loops_around(cleared.file, cleared.line)
    return any(not loop.holds(step.line) for loop in loops) and cleared.line < step.line
