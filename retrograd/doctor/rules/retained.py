"""`retain_graph=True` and `create_graph=True` that nothing uses: memory and time for no reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import Ranges
from retrograd.watching.records import Call

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
        elif word == "retain_graph" and given == place:
            groups = _groups(kept, calls)
            if groups and _is_plain_loop(place):
                found.append(_last_diagnosis(place, groups))
    return found


def _groups(kept: list[Call], calls: list[Call]) -> list[list[Call]]:
    """The calls of a line that share a graph, if the last of each group keeps it for nobody.

    Nothing is said if their number varies, if another line goes through the graph later, or if the
    losses are made in the loop itself: then it is not known beforehand which one is the last.
    """
    groups: list[list[Call]] = []
    for call in kept[:LOOKED_AT]:
        same_steps = bool(groups) and groups[-1][-1].steps == call.steps
        if same_steps and any(_overlap(each.ranges, call.ranges) for each in groups[-1]):
            groups[-1].append(call)
        else:
            groups.append([call])
    if len(kept) > LOOKED_AT:
        groups.pop()  # it may go on
    sizes = {len(group) for group in groups}
    if len(groups) < EXECUTIONS or len(sizes) != 1 or sizes == {1}:
        return []
    for group in groups:
        first, last = group[0], group[-1]
        roots = [number for call in group for number in call.roots]
        if _made_between(roots, first) or len(set(roots)) < len(group):
            return []
        if any(call.kind != "backward" or call.create or call.has_inputs for call in group):
            return []
        if _is_used(last, calls):
            return []
    return groups


def _made_between(roots: list[int], first: Call) -> bool:
    """Whether some of the losses were not there yet at the first call."""
    return any(number >= first.start for number in roots)


def _is_plain_loop(place: Place) -> bool:
    """Whether the line itself says True, in a loop that nothing leaves early."""
    statement = source.statement_at(place.file, place.line)
    says = statement is not None and any(
        isinstance(node, ast.keyword) and node.arg == "retain_graph" and _is_true(node.value)
        for node in ast.walk(statement)
    )
    inner = [
        node
        for node in ast.walk(source.tree_of(place.file))
        if isinstance(node, (ast.For, ast.While))
        and node.lineno <= place.line <= (node.end_lineno or node.lineno)
    ]
    if not says or not inner:
        return False
    loop = max(inner, key=lambda node: node.lineno)
    return not any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop))


def _last_diagnosis(place: Place, groups: list[list[Call]]) -> Diagnosis:
    size, nodes = len(groups[0]), max(call.nodes for group in groups for call in group)
    stack = groups[0][-1].log.places_of(groups[0][-1].stack)
    return Diagnosis(
        cause="needless-retain",
        title="retain_graph=True keeps the graph after the last of its losses too",
        why=f"{size} losses that share a graph go back through it in turn. All but the last have "
        f"to keep it; the last kept up to {nodes} nodes and their saved tensors too, "
        f"{len(groups)} times, and no later backward or grad call went through any of them.",
        error_line=place,
        created_at=list(dict.fromkeys(reversed(stack))),
        fixes=[Fix("drop-retain", place, "keep the graph for all losses but the last")],
        spans=[Span("kept", place, stack, f"in vain by the last of each {size} calls")],
        facts={
            "executions": len(groups),
            "nodes": nodes,
            "argument": "retain_graph",
            "all_but_last": True,
        },
    )


def _given_elsewhere(watched: Watched, word: str) -> Place | None:
    """The one line of the program that sets the argument for calls it does not make itself."""
    found = {
        Place(file, line)
        for file in watched.tracer.chains.files()
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
        title=f"{word}=True keeps a graph that nothing uses again",
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
