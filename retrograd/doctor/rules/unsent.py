"""Losses that are computed and never sent back: replaced at once, or only reported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.dropped_losses import calls_by_line
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import in_ranges
from retrograd.watching.records import Call

TIMES = 2
LOOKED_AT = 8  # calls of a line
LOSS = re.compile(r"loss|total|objective|cost|elbo|energy")
REPORTING = frozenset(
    """
    print item float detach append extend update add add_scalar add_scalars log write info debug
    format set_postfix set_description record push tolist numpy str round cpu
    """.split()
)


@dataclass(frozen=True)
class Lost:
    """A value that nothing sends back, and the line that computes it."""

    name: str
    line: int
    others: tuple[int, ...] = ()  # lines whose values nothing sends back either
    replaced: int = 0  # the line that replaces it
    whole: str = ""  # the sum that was to be sent back


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that sends a loss back and leaves another one out."""
    found = []
    for place, calls in calls_by_line(watched).items():
        if len(calls) < TIMES:
            continue
        looked = calls[1 : LOOKED_AT + 1]
        for lost in [*_replaced(place), *_reported(place)]:
            lines = [lost.line, *lost.others]
            if all(_is_lost(call, line, since) for since, call in looked for line in lines):
                found.append(_diagnosis(place, lost, calls[-1][1]))
    return found[:1]


def _sent(place: Place) -> str:
    """The variable on which a line calls `backward`, also under a scale: `scale(loss)`."""
    statement = source.statement_at(place.file, place.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    owner = call.func.value
    if isinstance(owner, ast.Call) and len(owner.args) == 1 and _called(owner) == "scale":
        owner = owner.args[0]
    return owner.id if call.func.attr == "backward" and isinstance(owner, ast.Name) else ""


def _replaced(place: Place) -> Iterator[Lost]:
    """`loss = a(x)`, and `loss = b(x)` in the same block, with no use of the first in between."""
    name = _sent(place)
    scope: ast.AST = source.function_around(place.file, place.line) or source.tree_of(place.file)
    for block in _blocks(scope) if name else ():
        last: ast.Assign | None = None
        for statement in block:
            if isinstance(statement, ast.Assign) and _sets(statement, name):
                if last is not None and not _reads(statement.value, name):
                    if statement.lineno < place.line and _computes(last) and _computes(statement):
                        yield Lost(name, last.lineno, replaced=statement.lineno)
                last = statement
            elif _reads(statement, name):
                last = None


def _reported(place: Place) -> Iterator[Lost]:
    """`total = loss + reg` that is printed, where `loss.backward()` stands in the line."""
    name = _sent(place)
    scope: ast.AST = source.function_around(place.file, place.line) or source.tree_of(place.file)
    for node in ast.walk(scope) if name else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        whole = node.targets[0].id
        terms = list(_terms(node.value))
        parts = [names for term in terms if (names := _names(term)) and names != {name}]
        direct = any(isinstance(term, ast.Name) and term.id == name for term in terms)
        if whole == name or not direct or not parts or not LOSS.search(whole.lower()):
            continue
        if not _is_only_reported(source.tree_of(place.file), whole):
            continue
        lines = [
            each.lineno
            for each in ast.walk(scope)
            if isinstance(each, ast.Assign)
            and any(_sets(each, part) for part in set().union(*parts))
            and _computes(each)
        ]
        if lines:
            yield Lost(whole, node.lineno, tuple(lines), whole=whole)


def _terms(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        yield from _terms(value.left)
        yield from _terms(value.right)
    else:
        yield value


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_only_reported(tree: ast.AST, name: str) -> bool:
    """Whether all that reads a variable prints it, keeps it, or makes it a number."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    uses = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
            continue
        uses += 1
        above: ast.AST = node
        while above in parents and not isinstance(above, ast.stmt):
            if isinstance(above, ast.JoinedStr):
                break
            if isinstance(above, ast.Call) and _called(above) in REPORTING:
                break
            above = parents[above]
        else:
            return False
    return uses > 0


def _blocks(scope: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(scope):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _sets(statement: ast.Assign, name: str) -> bool:
    target = statement.targets[0]
    return len(statement.targets) == 1 and isinstance(target, ast.Name) and target.id == name


def _reads(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        for each in ast.walk(node)
    )


def _computes(statement: ast.Assign) -> bool:
    return any(isinstance(node, (ast.Call, ast.BinOp)) for node in ast.walk(statement.value))


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _is_lost(call: Call, line: int, since: int) -> bool:
    """Whether the last value of a line has history, and the call has left it out."""
    step, last = call.stack[-1], None
    file = call.log.chains.file_of(step.chain)
    for first, behind, (chain, at, activation) in call.log.made_between(since, call.start):
        own = (chain, at, activation) == (step.chain, line, step.activation)
        if behind > first and (own or _passes(call, first, file, line)):
            last = behind - 1
    return last is not None and not in_ranges(call.ranges, last)


def _passes(call: Call, number: int, file: str, line: int) -> bool:
    return any(each.file == file and each.line == line for _, each in call.log.stack_of(number))


def _diagnosis(sent: Place, lost: Lost, call: Call) -> Diagnosis:
    made = Place(sent.file, lost.line, sent.function)
    if lost.replaced:
        where = Place(sent.file, lost.replaced, sent.function)
        title = f"`{lost.name}` is computed twice, and only the second loss is sent back"
        why = (
            f"Line {lost.line} computes a loss, and line {lost.replaced} puts another one in its "
            f"place before anything has used it. backward() in line {sent.line} never sees the "
            "first: what it measures trains nothing."
        )
        fix = Fix("combine-losses", where, "add the second loss to the first")
    else:
        where = sent
        title = f"`{lost.name}` is computed and reported, but never sent back"
        why = (
            f"Line {lost.line} adds up `{lost.name}`, and backward() in line {sent.line} is called "
            "on one of its terms. Nothing sends the others back: they train nothing."
        )
        fix = Fix("combine-losses", sent, "send the whole sum back")
    return Diagnosis(
        cause="dropped-losses",
        title=title,
        why=why,
        error_line=sent,
        created_at=list(dict.fromkeys([made, where, sent])),
        fixes=[fix],
        spans=[
            Span("replaced" if lost.replaced else "added", made),
            Span("sent back", sent, call.log.places_of(call.stack)),
        ],
        tensor=lost.name,
        facts={"replaced": bool(lost.replaced), "whole": lost.whole},
    )
