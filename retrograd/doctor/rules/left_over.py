"""Gradients that a helper left in the parameters: an attack, a saliency map, a probe.

It calls backward() for the gradient of an input. The parameters on the way get theirs too, and the
backward of the training adds to them, if they were cleared before the helper and not after it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import flow
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import Call, UsedGradients

TIMES = 2  # equal observations before anything is said

DELIBERATE = ("accumul", "on purpose", "deliberate", "intend")
"""Words in the text of the helper that say: its gradients are meant to stay. Its author knows."""

NUMBERS = frozenset("item float int tolist numpy len".split())


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one diagnosis for each optimizer, if all its mixed steps are of this kind."""
    gradients = watched.recorder.gradients
    held = {id(p) for optimizer in gradients.optimizers for p in parameters_of(optimizer)}
    found = []
    for optimizer in gradients.optimizers:
        mixed = [
            used
            for used in gradients.uses
            if used.optimizer is optimizer and used.sites > 1 and used.cleared is not None
        ]
        # the leaves of a call are known in the first ones only
        seen = [step for step in mixed if all(call.versions for call in step.calls)]
        helped = [_helper_of(watched, step, held) for step in seen]
        if len(seen) >= TIMES and None not in helped and len(set(helped)) == 1:
            diagnosis = _diagnosis(watched, seen)
            if diagnosis is not None:
                found.append(diagnosis)
    return found


def _helper_of(watched: Watched, step: UsedGradients, held: set[int]) -> Place | None:
    """The line of a helper whose backward is for an input; None if the sum may be meant.

    The helper is a function of its own that reads `.grad` and returns something else than the loss.
    All that it gives to parameters the later calls give too, and those reach no such input.
    """
    early = [call for call in step.calls if inputs_of(watched, call, held)]
    late = [call for call in step.calls if call not in early]
    if not early or not late or len({call.site for call in early}) > 1:
        return None
    if max(call.index for call in early) > min(call.index for call in late):
        return None
    added = set().union(*(step.given[call.index] for call in early))
    if not added <= set().union(*(step.given[call.index] for call in late)):
        return None
    place = early[0].log.place_of(early[0].stack)
    others = [call.log.place_of(call.stack) for call in late]
    others.append(watched.tracer.log.place_of(step.stack))
    if place is None or any(other is None or has_argument(other) for other in others):
        return None
    if not is_helper(place, [other for other in others if other is not None]):
        return None
    return place if all(_joins(early[0], call) for call in late) else None


def inputs_of(watched: Watched, call: Call, held: set[int]) -> set[int]:
    """The leaves that it reached and that are no parameters."""
    parameter, leaves = watched.recorder.torch.nn.Parameter, watched.recorder.leaves
    return {
        key
        for key in call.versions
        if key not in held and key in leaves and not isinstance(leaves[key], parameter)
    }


def has_argument(place: Place) -> bool:
    """`features.backward(leaf.grad)`: the gradient of the input goes on from here."""
    statement = source.statement_at(place.file, place.line)
    return statement is not None and any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        and (node.args or any(keyword.arg == "gradient" for keyword in node.keywords))
        for node in ast.walk(statement)
    )


def input_of(place: Place) -> str:
    """What the text reads the `.grad` of, after a line and before another loss is sent back."""
    scope: ast.AST = source.function_around(place.file, place.line) or source.tree_of(place.file)
    reads = sorted(
        (node.lineno, ast.unparse(node.value))
        for node in ast.walk(scope)
        if isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, (ast.Name, ast.Attribute))
        and ast.unparse(node.value).rpartition(".")[2] not in ("autograd", "torch")
        and node.lineno >= place.line
    )
    return reads[0][1] if reads else ""


def _joins(early: Call, late: Call) -> bool:
    """Whether what the helper returns flows into the later loss, where one function calls both."""
    for above in early.log.places_of(early.stack)[-2::-1]:
        scope: ast.AST = source.function_around(above.file, above.line) or source.tree_of(
            above.file
        )
        for below in late.log.places_of(late.stack):
            other = source.function_around(below.file, below.line) or source.tree_of(below.file)
            if below.file != above.file or other is not scope:
                continue
            statement = source.statement_at(below.file, below.line)
            if statement is source.statement_at(above.file, above.line):
                return True
            names = flow.names_from(scope, flow.names_kept(above))
            return statement is not None and flow.uses(statement, names)
    return False


def is_helper(place: Place, others: Iterable[Place], reports: bool = False) -> bool:
    """Whether a line is in a function for the gradient of an input.

    reports  it may give a number of which no loss is a part
    """
    function = source.function_around(place.file, place.line)
    if function is None:
        return False
    last = function.end_lineno or function.lineno
    if any(o.file == place.file and function.lineno <= o.line <= last for o in others):
        return False
    inner = list(ast.walk(function))
    returned = [node.value for node in inner if isinstance(node, ast.Return) and node.value]
    reads = any(isinstance(node, ast.Attribute) and node.attr == "grad" for node in inner)
    names = {
        node.id for value in returned for node in ast.walk(value) if isinstance(node, ast.Name)
    }
    if not returned or not reads or names & _losses(inner):
        return False
    if not reports and any(_is_number(value) for value in returned):
        return False
    lines = range(function.lineno - 1, last + 1)
    text = " ".join(source.text_at(place.file, line) for line in lines).lower()
    return not any(word in text for word in DELIBERATE)


def _is_number(value: ast.expr) -> bool:
    """Whether an expression gives a number for a report."""
    calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)]
    return any(getattr(f, "attr", getattr(f, "id", "")) in NUMBERS for f in calls)


def _losses(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that `backward` is called on, and those that are computed from them by `+=`."""
    nodes = list(nodes)
    found = {
        node.func.value.id
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        and isinstance(node.func.value, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if any(isinstance(n, ast.Name) and n.id in found for n in ast.walk(node.value)):
                found.add(node.target.id)
    return found


def _diagnosis(watched: Watched, seen: list[UsedGradients]) -> Diagnosis | None:
    log, last = watched.tracer.log, seen[-1]
    first, final = last.calls[0], last.calls[-1]
    assert last.cleared is not None
    step, cleared = log.place_of(last.stack), log.place_of(last.cleared.stack)
    left, added = log.place_of(first.stack), log.place_of(final.stack)
    if step is None or cleared is None or left is None or added is None:
        return None
    helper = log.places_of(first.stack)
    parameters, name = len(last.given[first.index]), input_of(left)
    return Diagnosis(
        cause="zero-grad-misuse",
        title=f"line {left.line} leaves gradients in the parameters, and the training adds to them",
        why=f"`{left.function}` calls backward() for the gradient of an input. That also gives "
        f"gradients to {parameters} parameters of the optimizer. They were cleared in line "
        f"{cleared.line}, before that, and not after it: {len(seen)} steps used the sum.",
        error_line=step,
        created_at=list(dict.fromkeys([cleared, *reversed(helper), added, step])),
        fixes=[
            Fix("reorder-step", cleared, f"clear right before the backward() in line {added.line}"),
            Fix("zero-grad", added, "clear the gradients before this backward()"),
            Fix("remove-extra-backward", left, f"or ask for the gradient of `{name}` alone"),
        ],
        spans=[
            Span("cleared", cleared, log.places_of(last.cleared.stack)),
            Span("left", left, helper),
            Span("added", added, log.places_of(final.stack)),
        ],
        facts={"steps": len(seen), "parameters": parameters, "input": name},
    )
