"""Losses that a loop computes one after the other, of which only the last one is sent back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import in_ranges
from retrograd.watching.records import Call

TIMES = 2  # calls before which the loop has run as often


def calls_by_line(watched: Watched) -> dict[Place, list[tuple[int, Call]]]:
    """The backward calls of each line, each with the number at which the call before it ended."""
    seen: dict[Place, list[tuple[int, Call]]] = {}
    before = 0
    for call in watched.recorder.calls:
        place = call.log.place_of(call.stack)
        if place is not None and call.kind == "backward" and not call.nested:
            seen.setdefault(place, []).append((before, call))
        before = call.end
    return seen


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that sends such a loss back."""
    found = []
    for place, calls in calls_by_line(watched).items():
        for line, name in _candidates(place) if len(calls) >= TIMES else ():
            if all(_drops(call, line, since) for since, call in calls[1 : TIMES + 1]):
                found.append(_diagnosis(place, line, name, calls[-1][1]))
    return found


def _candidates(sent: Place) -> Iterator[tuple[int, str]]:
    """Lines `loss = ...` in a loop before a `loss.backward()` that stands behind the loop."""
    statement = source.statement_at(sent.file, sent.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    owner = call.func.value
    if call.func.attr != "backward" or not isinstance(owner, ast.Name):
        return
    scope: ast.AST = source.function_around(sent.file, sent.line) or source.tree_of(sent.file)
    around = set(source.loops_around(sent.file, sent.line))
    for loop in ast.walk(scope):
        if not isinstance(loop, ast.For) or (loop.end_lineno or 0) >= sent.line:
            continue
        if any(isinstance(node, (ast.Break, ast.Return, ast.If)) for node in ast.walk(loop)):
            continue
        if len(set(source.loops_around(sent.file, loop.lineno)) - around) != 1:
            continue  # it stands in another loop, which may use the loss
        for node in loop.body:
            if isinstance(node, ast.Assign) and _is_only_set(loop, node, owner.id):
                if not _carries(sent.file, loop, node.lineno):
                    yield node.lineno, owner.id


def _is_only_set(loop: ast.For, node: ast.Assign, name: str) -> bool:
    """Whether a loop sets a variable in this statement, and nothing in it reads the variable."""
    target = node.targets[0]
    uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    return isinstance(target, ast.Name) and target.id == name and len(uses) == 1


def _carries(file: str, loop: ast.For, line: int) -> bool:
    """Whether a pass of a loop goes on with what the pass before has set, as a recurrence does."""
    names = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    kept = source.Loop(loop.lineno, loop.end_lineno or loop.lineno)
    return any(not source.set_before_read(file, kept, name, line) for name in stored & read)


def _drops(call: Call, line: int, since: int) -> bool:
    """Whether earlier passes of the loop have made nodes in that line that the call left out."""
    step = call.stack[-1]
    lost = used = False
    for first, behind, (chain, at, activation) in call.log.made_between(since, call.start):
        if (chain, at, activation) == (step.chain, line, step.activation) and behind > first:
            inside = any(in_ranges(call.ranges, number) for number in range(first, behind))
            lost, used = lost or not inside, used or inside
    return lost and used


def _diagnosis(sent: Place, line: int, name: str, call: Call) -> Diagnosis:
    made = Place(sent.file, line, sent.function)
    return Diagnosis(
        cause="dropped-losses",
        title=f"only the last `{name}` of the loop is sent back",
        why=f"Line {line} computes `{name}` in each pass of its loop, and each pass replaces the "
        f"one before. backward() in line {sent.line} stands behind the loop: what the other passes "
        "have computed trains nothing.",
        error_line=sent,
        created_at=[made, sent],
        fixes=[
            Fix("combine-losses", made, "add the losses up, or call backward() in the loop"),
        ],
        spans=[Span("replaced", made), Span("sent back", sent, call.log.places_of(call.stack))],
        facts={"dropped": name},
    )
