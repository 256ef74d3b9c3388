"""A policy's loss whose weight has history: the advantage trains the critic the wrong way.

`-(log_prob * advantage).mean()` is to move the policy only. If the advantage was computed from the
critic's values with history, the same loss moves these too: down where the action was good.
"""

from __future__ import annotations

import ast
import re

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2

POLICY = re.compile(r"log_?p|log_?pi|(\b|_)ratio")
WEIGHT = re.compile(r"\badv|advantage|\btd(_|\b)|delta|return|reward|baseline")


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that multiplies them."""
    seen: dict[Place, list[list[Place]]] = {}
    for call, number in watched.recorder.products:
        stack = [place for _, place in call.log.stack_of(number)]
        if call.kind == "backward" and stack:
            seen.setdefault(stack[-1], []).append(stack)
    found = []
    for place, stacks in seen.items():
        weight = _weight(place)
        if weight is not None and len(stacks) >= TIMES:
            found.append(_diagnosis(place, weight, stacks[-1], len(stacks)))
    return found


def _weight(place: Place) -> str | None:
    """The text of what a line multiplies a log-probability by."""
    statement = source.statement_at(place.file, place.line)
    if statement is None or hasattr(statement, "body"):
        return None
    for node in ast.walk(statement):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for policy, weight in ((node.left, node.right), (node.right, node.left)):
                first, second = ast.unparse(policy).lower(), ast.unparse(weight).lower()
                if POLICY.search(first) and WEIGHT.search(second) and not POLICY.search(second):
                    return ast.unparse(weight)
    return None


def _diagnosis(place: Place, weight: str, stack: list[Place], times: int) -> Diagnosis:
    return Diagnosis(
        cause="target-with-gradient",
        title=f"the weight `{weight}` of line {place.line} is computed with gradients",
        why=f"Line {place.line} multiplies log-probabilities by `{weight}`, which says how good an "
        "action was. It has history itself, so backward() also moves what it was computed from: "
        f"parameters that another loss is to train. {times} calls that were looked at did so.",
        error_line=place,
        created_at=list(dict.fromkeys([place, *reversed(stack)])),
        fixes=[Fix("detach", place, "a weight is a number: take it without its history")],
        spans=[Span("multiplied", place, stack)],
        tensor=weight,
        facts={"calls": times},
    )
