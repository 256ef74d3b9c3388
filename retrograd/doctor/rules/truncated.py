"""A state that is cut off in every pass of the loop that computes it, within one loss.

What the earlier passes recorded is never sent back: only the last one is trained. Cutting between
two backward calls bounds the length of the history; here there is no call in between. A loop that
only refines one value may want that, so the loop must go over data.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import in_ranges
from retrograd.watching.records import Call

TIMES = 2  # calls that must have shown it
LOOKED_AT = 8  # calls that are looked at
DELIBERATE = (
    *("truncat", "one-step", "one step", "last step", "fixed point", "fixed_point", "implicit"),
    *("detach ", "detached", "stop grad", "stop_grad", "no gradient", "without gradient"),
)
"""Words around the loop that say: it is meant."""

SENDS = ("backward", "grad", "step")


@dataclass(frozen=True)
class Cut:
    """A line that cuts what the loop around it carries."""

    place: Place
    header: int  # of the loop
    end: int
    name: str


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each such line."""
    found = []
    for file in watched.tracer.chains.files():
        for cut in _cuts(file):
            if not _is_meant(cut):
                calls = _shown(watched, cut)
                if len(calls) >= TIMES:
                    found.append(_diagnosis(cut, calls, watched))
    return found


# ---------------------------------------------------------------------------------- the text


def _cuts(file: str) -> Iterator[Cut]:
    """Lines with `x.detach()` or `x.data` of a variable that the loop sets from itself."""
    for loop in ast.walk(source.tree_of(file)):
        if not isinstance(loop, ast.For) or not _goes_over_data(loop) or _sends(loop):
            continue
        for statement in loop.body:
            if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
                continue
            for node in ast.walk(statement.value):
                name = _cut_name(node)
                if name and _is_carried(loop, name):
                    place = Place(file, statement.lineno)
                    yield Cut(place, loop.lineno, loop.end_lineno or loop.lineno, name)


def _cut_name(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "detach" and isinstance(node.func.value, ast.Name):
            return node.func.value.id
    if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.value, ast.Name):
        return node.value.id
    return ""


def _goes_over_data(loop: ast.For) -> bool:
    """Whether each pass reads something of its own: what the loop goes over, or an item by it."""
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return any(
        isinstance(node, ast.Name) and node.id in names
        for statement in loop.body
        for node in ast.walk(statement)
    )


def _sends(loop: ast.For) -> bool:
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "attr", "") in SENDS
        for node in ast.walk(loop)
    )


def _is_carried(loop: ast.For, name: str) -> bool:
    """Whether a statement of the loop sets the name from what it was."""
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for statement in loop.body
        for node in ast.walk(statement)
    )


def _is_meant(cut: Cut) -> bool:
    function = source.function_around(cut.place.file, cut.place.line)
    first = cut.header if function is None else function.lineno
    lines = [source.text_at(cut.place.file, n) for n in range(first - 1, cut.end + 1)]
    comments = [line.partition("#")[2] for line in lines]
    names = [] if function is None else [function.name, ast.get_docstring(function) or ""]
    text = " ".join([*comments, *names]).lower()
    return any(word in text for word in DELIBERATE)


# ------------------------------------------------------------------------------- the graph


def _shown(watched: Watched, cut: Cut) -> list[Call]:
    """The calls that go through what the last pass of the loop has made, and nothing before it."""
    calls = [call for call in watched.recorder.calls if call.log is watched.tracer.log]
    found, start = [], 0
    for call in calls[: LOOKED_AT * 4]:
        if call.kind == "backward" and not call.nested:
            unused, used = _made_in(call, cut, start, calls)
            if unused and used and max(unused) < min(used) and len(unused) >= len(used):
                found.append(call)
        start = call.end
    return found[:LOOKED_AT]


def _made_in(call: Call, cut: Cut, start: int, calls: list[Call]) -> tuple[list[int], list[int]]:
    """The first nodes of the entries that a loop has made for a call: unused and used ones."""
    log = call.log
    first, last = bisect_left(log.numbers, start), bisect_left(log.numbers, call.start)
    unused: list[int] = []
    used: list[int] = []
    for position in range(first, last):
        number, site = log.numbers[position], log.sites[position]
        following = log.numbers[position + 1] if position + 1 < last else call.start
        if following == number or not site[0] or not _is_inside(call, site[0], site[1], cut):
            continue
        ours = any(in_ranges(call.ranges, n) for n in range(number, following))
        others = any(
            in_ranges(other.ranges, n)
            for other in calls
            if other is not call
            for n in (number, following - 1)
        )
        if not others:
            (used if ours else unused).append(number)
    return unused, used


def _is_inside(call: Call, chain: int, line: int, cut: Cut) -> bool:
    return any(
        place.file == cut.place.file and cut.header < place.line <= cut.end
        for _, place in call.log.chains.stack(chain, line)
    )


def _diagnosis(cut: Cut, calls: list[Call], watched: Watched) -> Diagnosis:
    sent = calls[-1].log.places_of(calls[-1].stack)
    return Diagnosis(
        cause="broken-graph",
        title=f"`{cut.name}` is cut off in every pass of its loop: only the last one is trained",
        why=f"The loop in line {cut.header} computes `{cut.name}` step by step, and line "
        f"{cut.place.line} takes its history away in each of them. In {len(calls)} backward calls "
        "that were looked at, all that was recorded before the last pass was never sent back.",
        error_line=cut.place,
        created_at=[cut.place],
        fixes=[Fix("keep-graph", cut.place, "keep the history within what one loss is about")],
        spans=[Span("cut", cut.place), *([Span("sent back", sent[-1], sent)] if sent else [])],
        tensor=cut.name,
        facts={"op": "detach", "calls": len(calls), "partly": True},
    )
