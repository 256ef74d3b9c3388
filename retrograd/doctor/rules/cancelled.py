"""A value that is added and taken away again in one formula: `q = z + (q - z)`, without detach().

That is how a straight-through estimator is written, but for the `detach()`. Without it the two
gradients of `z` cancel, and what is left is the gradient of `q`.
"""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that does so in several calls."""
    seen: dict[Place, set[int]] = {}
    stacks: dict[Place, list[Place]] = {}
    for call, number in watched.recorder.cancelled:
        stack = [place for _, place in call.log.stack_of(number)]
        if call.kind == "backward" and stack:
            seen.setdefault(stack[-1], set()).add(call.index)
            stacks[stack[-1]] = stack
    return [
        _diagnosis(place, stacks[place], len(calls))
        for place, calls in seen.items()
        if len(calls) >= TIMES and _adds_a_difference(place)
    ]


def _adds_a_difference(place: Place) -> bool:
    """Whether the formula of a line adds and takes away one name."""
    statement = source.statement_at(place.file, place.line)
    if statement is None:
        return False
    return any(
        isinstance(node, ast.BinOp) and set.intersection(*_names(node, True))
        for node in ast.walk(statement)
    )


def _names(node: ast.expr, added: bool) -> tuple[set[str], set[str]]:
    """What a sum adds, and what it takes away, as written."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left = _names(node.left, added)
        right = _names(node.right, added == isinstance(node.op, ast.Add))
        return left[0] | right[0], left[1] | right[1]
    text = {ast.unparse(node)}
    return (text, set()) if added else (set(), text)


def _diagnosis(place: Place, stack: list[Place], calls: int) -> Diagnosis:
    return Diagnosis(
        cause="broken-graph",
        title="a value is added and taken away again: its gradient cancels",
        why=f"The formula in line {place.line} adds a value and subtracts it. Its two gradients "
        f"cancel exactly, in {calls} calls that were looked at: nothing behind it is trained by "
        "this. A straight-through estimator cuts the difference off: z + (q - z).detach().",
        error_line=place,
        created_at=list(dict.fromkeys(reversed(stack))),
        fixes=[
            Fix("detach", place, "detach the difference, so that the gradient goes to the rest")
        ],
        spans=[Span("cancelled", place, stack)],
        facts={"calls": calls, "partly": True},
    )
