"""Gradients that the phase of one optimizer leaves in the parameters of another, which steps later.

The generator's loss goes through the discriminator, and leaves gradients there. If they were
cleared before that, and not after it, the discriminator's step uses them, with the wrong sign.
Likewise where the actor's loss goes back between the critic's own and the critic's step.
"""

from __future__ import annotations

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import Call, UsedGradients

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis for each optimizer, if all its steps with several lines show it."""
    gradients = watched.recorder.gradients
    found = []
    for optimizer in gradients.optimizers:
        mixed = [each for each in gradients.uses if each.optimizer is optimizer and each.sites > 1]
        # where leaves are used is known of the first calls only
        seen = [used for used in mixed if all(call.users for call in used.calls)]
        pairs = [_left_and_own(used, gradients.uses) for used in seen]
        known = [pair for pair in pairs if pair is not None]
        if len(known) >= TIMES and len(known) == len(pairs):
            diagnosis = _diagnosis(watched, seen[-1], *known[-1], len(seen))
            if diagnosis is not None:
                found.append(diagnosis)
            continue
        late = [_own_and_left(used, gradients.uses) for used in seen]
        shown = [pair for pair in late if pair is not None]
        if len(shown) >= TIMES and len(shown) == len(late):
            diagnosis = _between(watched, seen[-1], *shown[-1], len(seen))
            if diagnosis is not None:
                found.append(diagnosis)
    return found


def _own_and_left(
    used: UsedGradients, uses: list[UsedGradients]
) -> tuple[Call, Call, UsedGradients] | None:
    """The own call, the later one of the other phase, and the step of the other.

    Both may be meant, as of a decoder that is trained alone and behind an encoder. Not so where the
    later loss is the output of this optimizer's parameters itself, and the own one measures it:
    what is to be right cannot be to be large as well.
    """
    if len(used.calls) != 2:
        return None
    own, left = used.calls
    held = {id(parameter) for parameter in parameters_of(used.optimizer)}
    if used.given[left.index] != used.given[own.index]:
        return None
    if not left.outputs or not left.outputs <= held or own.outputs & held:
        return None
    others = [each for each in uses if each.optimizer is not used.optimizer]
    if any(own in each.calls for each in others):
        return None
    for each in others:
        trained = each.given.get(left.index, set())
        if each.calls == [left] and not trained & held and not _is_for_both(left, held, trained):
            if _comes_through(left, held, trained):
                return own, left, each
    return None


def _between(
    watched: Watched,
    used: UsedGradients,
    own: Call,
    left: Call,
    other: UsedGradients,
    steps: int,
) -> Diagnosis | None:
    log = watched.tracer.log
    added, leaving = own.log.place_of(own.stack), left.log.place_of(left.stack)
    step, trained = log.place_of(used.stack), log.place_of(other.stack)
    if leaving is None or added is None or step is None or trained is None:
        return None
    count = len(used.given[left.index])
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"line {leaving.line} leaves gradients for another optimizer, whose step uses them",
        why=f"The backward() in line {leaving.line} is for the step in line {trained.line}. Its "
        f"way goes through {count} parameters of the optimizer that steps in line {step.line}, and "
        f"adds to the gradients that line {added.line} has given them: {steps} steps used the sum, "
        "which makes their output large instead of right.",
        error_line=step,
        created_at=list(dict.fromkeys([leaving, added, step])),
        fixes=[Fix("reorder-step", step, f"step right after line {added.line}, before the other")],
        spans=[
            Span("added", added, own.log.places_of(own.stack)),
            Span("left", leaving, left.log.places_of(left.stack)),
            Span("stepped", step, log.places_of(used.stack)),
        ],
        facts={"steps": steps, "parameters": count, "own": added.line},
    )


def _left_and_own(
    used: UsedGradients, uses: list[UsedGradients]
) -> tuple[Call, Call, UsedGradients] | None:
    """The call of the other phase, the own one, and the step of the other; None if it may be meant.

    The other optimizer has stepped in between, and no other step uses the own call. Both give
    gradients to the same parameters; on the way from the loss to those of the other optimizer the
    first call came through these, so that it did not need their gradients.
    """
    if len(used.calls) != 2 or used.cleared is None:
        return None
    left, own = used.calls
    if used.given[left.index] != used.given[own.index]:
        return None
    others = [each for each in uses if each.optimizer is not used.optimizer]
    if any(own in each.calls for each in others):
        return None
    taken = [each for each in others if left in each.calls and each.number < used.number]
    held = {id(parameter) for parameter in parameters_of(used.optimizer)}
    for each in taken:
        trained = each.given[left.index]
        in_between = each.calls[-1].index < own.index
        if not in_between or trained & held or _is_for_both(left, held, trained):
            continue
        if _comes_through(left, held, trained):
            return left, own, each
    return None


def _is_for_both(call: Call, held: set[int], trained: set[int]) -> bool:
    """Whether a term of a call's loss is for the one without any way to those of the other."""
    return any(term & held and not term & trained for term in call.reached)


def _comes_through(call: Call, held: set[int], trained: set[int]) -> bool:
    """Whether these parameters were used after all that are trained by a call."""
    first = [call.users[key][0] for key in held if key in call.users]
    last = [call.users[key][1] for key in trained if key in call.users]
    return bool(first and last) and min(first) > max(last)


def _diagnosis(
    watched: Watched,
    used: UsedGradients,
    left: Call,
    own: Call,
    other: UsedGradients,
    steps: int,
) -> Diagnosis | None:
    log = watched.tracer.log
    assert used.cleared is not None
    leaving, added = left.log.place_of(left.stack), own.log.place_of(own.stack)
    step, cleared = log.place_of(used.stack), log.place_of(used.cleared.stack)
    trained = log.place_of(other.stack)
    if leaving is None or added is None or step is None or cleared is None or trained is None:
        return None
    count = len(used.given[left.index])
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"line {leaving.line} leaves gradients for another optimizer, whose step uses them",
        why=f"The backward() in line {leaving.line} is for the step in line {trained.line}. Its "
        f"way goes through {count} parameters of the optimizer that steps in line {step.line}, and "
        f"leaves gradients there. They were cleared in line {cleared.line}, before that, and not "
        f"after it: {steps} steps used the sum.",
        error_line=step,
        created_at=list(dict.fromkeys([leaving, cleared, added, step])),
        fixes=[
            Fix("zero-grad", added, "clear this optimizer's gradients before its own backward()"),
            Fix("reorder-step", cleared, f"clear them after line {leaving.line}, not before it"),
        ],
        spans=[
            Span("cleared", cleared, log.places_of(used.cleared.stack)),
            Span("left", leaving, left.log.places_of(left.stack)),
            Span("added", added, own.log.places_of(own.stack)),
            Span("stepped", step, log.places_of(used.stack)),
        ],
        facts={"steps": steps, "parameters": count},
    )
