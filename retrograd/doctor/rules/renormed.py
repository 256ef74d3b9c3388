"""An embedding with `max_norm`: a lookup writes into the weight that something else has saved."""

from __future__ import annotations

import ast
from typing import Any

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import overwritten, raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.graph import INPLACE, Node
from retrograd.watching.holders import holder_of
from retrograd.watching.lines import LEAF
from retrograd.watching.records import Failure


def renormed(watched: Watched) -> Diagnosis | None:
    """ "modified by an inplace operation", where what was written is a table that is looked up."""
    at, failure = raised.find(watched, INPLACE), watched.recorder.failure
    if at is None or failure is None or failure.error is not at.error:
        return None
    versions = overwritten.versions_in(at.error)
    if versions is None:
        return None
    for leaf, lookups, others in _tables(failure):
        if leaf._version != versions[0] or not _has_max_norm(watched):
            continue
        numbers = [failure.nodes[node] for node in others]
        log = failure.call.log
        used = [place for _, place in log.stack_of(min(numbers))]
        written = [place for _, place in log.stack_of(max(failure.nodes[n] for n in lookups))]
        if not used or not written or max(failure.nodes[n] for n in lookups) < min(numbers):
            continue
        held = holder_of(leaf, at.frames[::-1], watched.recorder.torch.Tensor)
        name = "" if held is None else held.path
        read = _reading(used, name) or used[-1]
        return Diagnosis(
            cause="inplace-after-save",
            title=f"{f'`{name}`' if name else 'a table'} is looked up with max_norm after it was "
            "used in another operation",
            why="A lookup with max_norm shortens the rows that it reads, in the weight itself. "
            f"Line {used[-1].line} has saved the weight for its gradient before.",
            error_line=at.place,
            created_at=list(dict.fromkeys([read, used[-1], *reversed(written), *reversed(used)])),
            fixes=[
                Fix(
                    "clone",
                    read,
                    "compute with a copy of the weight",
                    "one more tensor of its size",
                )
            ],
            error=at.message,
            tensor=name,
            spans=[
                Span("saved", used[-1], used),
                Span("written", written[-1], written),
                Span("needed", at.place, at.stack),
            ],
            facts={"table": name.rpartition(".")[2] if name else "weight"},
        )
    return None


def _tables(failure: Failure) -> list[tuple[Any, list[Node], list[Node]]]:
    """Leaves that are looked up, with their lookups and what else uses them."""
    users: dict[int, tuple[Any, list[Node], list[Node]]] = {}
    for node, number in failure.nodes.items():
        for following, _ in node.next_functions:
            leaf = _leaf(following)
            if leaf is not None and number < LEAF:
                _, lookups, others = users.setdefault(id(leaf), (leaf, [], []))
                (lookups if node.name().startswith("Embedding") else others).append(node)
    return [entry for entry in users.values() if entry[1] and entry[2]]


def _leaf(node: Node | None) -> Any | None:
    return None if node is None else getattr(node, "variable", None)


def _has_max_norm(watched: Watched) -> bool:
    return any(
        isinstance(node, ast.keyword) and node.arg == "max_norm"
        for file in watched.tracer.chains.files()
        for node in ast.walk(source.tree_of(file))
    )


def _reading(stack: list[Place], path: str) -> Place | None:
    """The line on the way to an operation that reads the weight by its name."""
    own = path.rpartition(".")[2] or "weight"
    for place in reversed(stack):
        statement = source.statement_at(place.file, place.line)
        for node in [] if statement is None else ast.walk(statement):
            if isinstance(node, ast.Attribute) and node.attr == own:
                return place
    function = source.function_around(stack[-1].file, stack[-1].line)
    for node in [] if function is None else ast.walk(function):  # `weight = table.weight` before
        if isinstance(node, ast.Assign) and node.lineno < stack[-1].line:
            if isinstance(node.value, ast.Attribute) and node.value.attr == own:
                return Place(stack[-1].file, node.lineno, stack[-1].function)
    return None
