"""`retain_graph=True` and `create_graph=True` that nothing uses: memory and time for no reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.doctor.evidence import source
from retrograd.doctor.model import Diagnosis, Fix, Place, Span
from retrograd.doctor.session import Watched
from retrograd.doctor.watching.graph import Ranges
from retrograd.doctor.watching.records import Call

EXECUTIONS = 2  # of a line before it is judged
LOOKED_AT = 50  # executions of a line that are looked at


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line whose kept graphs were never used."""
    calls = watched.recorder.calls
    by_line: dict[Place, list[Call]] = {}
    for call in calls:
        place = call.log.place_of(call.stack)
        if call.retain and not call.nested and not call.failed and place is not None:
            by_line.setdefault(place, []).append(call)
    found = []
    for place, kept in by_line.items():
        if len(kept) < EXECUTIONS:
            continue
        word = _argument_at(place)
        given = place if word is not None else None
        if word is None and all(call.direct for call in kept):
            # handed over where the text does not show it: a partial, **options, a position
            word = "create_graph" if kept[0].create else "retain_graph"
            given = _given_elsewhere(watched, word) or place
        if word is None or given is None:
            continue
        if not any(_is_used(call, calls) for call in kept[:LOOKED_AT]):
            found.append(_diagnosis(place, kept, word, given))
    return found


def _given_elsewhere(watched: Watched, word: str) -> Place | None:
    """The one line of the program that sets the argument for calls it does not make itself."""
    chains = watched.tracer.chains.known
    files = dict.fromkeys(chain.code.co_filename for chain in chains if chain is not None)
    found = {
        Place(file, line)
        for file in files
        for node in ast.walk(source.tree_of(file))
        for line in _settings(node, word)
    }
    return found.pop() if len(found) == 1 else None


def _settings(node: ast.AST, word: str) -> Iterator[int]:
    """Where a node sets it: `partial(f, word=True)`, `dict(word=True)`, `{"word": True}`."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") not in ("backward", "grad"):
        for keyword in node.keywords:
            if keyword.arg == word and _is_true(keyword.value):
                yield keyword.value.lineno
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == word and _is_true(value):
                yield key.lineno
    elif isinstance(node, ast.Assign) and _is_true(node.value):
        for target in node.targets:
            key = target.slice if isinstance(target, ast.Subscript) else None
            if isinstance(key, ast.Constant) and key.value == word:
                yield node.lineno


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _argument_at(place: Place) -> str | None:
    """The argument that the line itself passes; None if a library has chosen to keep the graph."""
    statement = source.statement_at(place.file, place.line)
    if statement is None:
        return None
    for node in ast.walk(statement):
        if isinstance(node, ast.keyword) and node.arg in ("create_graph", "retain_graph"):
            if not (isinstance(node.value, ast.Constant) and not node.value.value):
                return node.arg
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "backward" and len(node.args) > 1:
                return "retain_graph"
    return None


def _is_used(call: Call, calls: list[Call]) -> bool:
    """Whether a later call went through nodes that this one kept or created."""
    if call.used_again or call.result_used:
        return True
    created: Ranges = [[call.start, call.end - 1]] if call.create and call.end > call.start else []
    for later in calls[call.index + 1 :]:
        if later.log is call.log and (
            _overlap(call.ranges, later.ranges) or _overlap(created, later.ranges)
        ):
            return True
    return False


def _overlap(first: Ranges, second: Ranges) -> bool:
    """Whether two sorted lists of ranges share a number."""
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i][1] < second[j][0]:
            i += 1
        elif second[j][1] < first[i][0]:
            j += 1
        else:
            return True
    return False


def _diagnosis(place: Place, kept: list[Call], word: str, given: Place) -> Diagnosis:
    """`given` is the line that says `word`; mostly that of the call itself."""
    nodes = max(call.nodes for call in kept)
    stack = kept[0].log.places_of(kept[0].stack)
    return Diagnosis(
        cause="needless-retain",
        summary=f"{word}=True keeps a graph that nothing uses again",
        why=f"The line ran {len(kept)} times and kept up to {nodes} nodes with their saved tensors "
        "each time. No later backward or grad call went through any of them.",
        error_line=place,
        created_at=list(dict.fromkeys([*reversed(stack), given])),
        fixes=[Fix("drop-retain", given, f"call it without {word}=True")],
        spans=[
            Span("kept", place, stack, f"in all {len(kept)} calls"),
            *([Span("given", given)] if given.line != place.line else []),
        ],
        facts={"executions": len(kept), "nodes": nodes, "argument": word},
    )
