"""A helper's backward between the backward of the training and its step: the step uses both.

A saliency map, an attack or a probe sends a score back for the gradient of an input. The parameters
on the way get theirs too, on top of what the training's loss has given them.
"""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import flow
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.left_over import (
    DELIBERATE,
    has_argument,
    input_of,
    inputs_of,
    is_helper,
)
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import Call, UsedGradients

TIMES = 2  # equal observations before anything is said


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis for each optimizer, if all its mixed steps are of this kind."""
    gradients = watched.recorder.gradients
    held = {id(p) for optimizer in gradients.optimizers for p in parameters_of(optimizer)}
    found = []
    for optimizer in gradients.optimizers:
        mixed = [used for used in gradients.uses if used.optimizer is optimizer and used.sites > 1]
        # the leaves of a call are known in the first ones only
        seen = [step for step in mixed if all(call.versions for call in step.calls)]
        helped = [_helper_of(watched, step, held) for step in seen]
        sites = {call.site for call in helped if call is not None}
        if len(seen) >= TIMES and None not in helped and len(sites) == 1:
            diagnosis = _diagnosis(watched, seen, helped[-1])
            if diagnosis is not None:
                found.append(diagnosis)
    return found


def _helper_of(watched: Watched, step: UsedGradients, held: set[int]) -> Call | None:
    """The later call that is for an input; None if the sum may be meant.

    The training's own call comes first and is for parameters alone. What the later one gives to
    them, that one gives too.
    """
    own = step.calls[0]
    later = [call for call in step.calls if inputs_of(watched, call, held)]
    if not later or own in later or len({call.site for call in later}) > 1:
        return None
    rest = [call for call in step.calls if call not in later]
    added = set().union(*(step.given[call.index] for call in later))
    if not added <= set().union(*(step.given[call.index] for call in rest)):
        return None
    call = later[-1]
    place, trained = call.log.place_of(call.stack), own.log.place_of(own.stack)
    stepped = watched.tracer.log.place_of(step.stack)
    others = [place for place in (trained, stepped) if place is not None]
    if place is None or len(others) < 2 or any(map(has_argument, [place, *others])):
        return None
    if not input_of(place):
        return None
    # a score that no loss measures is not what the training is for
    raw = bool(call.outputs & held) and not any(each.outputs & held for each in rest)
    if raw:
        return None if _is_deliberate(place) else call
    # a loss may be: adversarial examples are trained on as well, by what their attack leaves
    return call if is_helper(place, others, reports=True) and _is_reported(call) else None


def _is_reported(call: Call) -> bool:
    """Whether what the function of a call returns is printed or kept in a log, and that is all."""
    stack = call.log.places_of(call.stack)
    if len(stack) < 2:
        return False
    above = stack[-2]
    statement = source.statement_at(above.file, above.line)
    if isinstance(statement, ast.Expr):
        return True
    kept = flow.names_kept(above)
    scope: ast.AST = source.function_around(above.file, above.line) or source.tree_of(above.file)
    users = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node is not statement
    ]
    using = [node for node in users if flow.uses(node, kept)]
    return bool(kept and using) and all(isinstance(node, ast.Expr) for node in using)


def _is_deliberate(place: Place) -> bool:
    lines = range(max(place.line - 3, 1), place.line + 2)
    text = " ".join(source.text_at(place.file, line) for line in lines).lower()
    return any(word in text for word in DELIBERATE)


def _diagnosis(
    watched: Watched, seen: list[UsedGradients], helper: Call | None
) -> Diagnosis | None:
    log, last = watched.tracer.log, seen[-1]
    if helper is None:
        return None
    own = last.calls[0]
    step, trained = log.place_of(last.stack), own.log.place_of(own.stack)
    left = helper.log.place_of(helper.stack)
    if step is None or trained is None or left is None:
        return None
    stack, name = log.places_of(helper.stack), input_of(left)
    called = next((p for p in stack if p.file == step.file and p.function == step.function), left)
    parameters = len(last.given[helper.index])
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"line {left.line} adds to the gradients that the step in line {step.line} uses",
        why=f"Line {trained.line} sends the loss back. Then line {left.line} calls backward() for "
        f"`{name}.grad`; that adds to the gradients of {parameters} parameters of the optimizer as "
        f"well, and {len(seen)} steps that were looked at used the sum.",
        error_line=step,
        created_at=list(dict.fromkeys([left, *reversed(stack), trained, step])),
        fixes=[
            Fix("remove-extra-backward", left, f"ask for the gradient of `{name}` alone"),
            Fix(
                "reorder-step",
                called,
                "do this before the gradients are cleared, or after the step",
            ),
        ],
        spans=[
            Span("sent back", trained, own.log.places_of(own.stack)),
            Span("added", left, stack),
            Span("stepped", step, log.places_of(last.stack)),
        ],
        tensor=name,
        facts={"steps": len(seen), "parameters": parameters, "input": name},
    )
