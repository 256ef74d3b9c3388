"""Parameters that share memory through `.data`: two gradients, two steps, one weight."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for the line that shares the memory, if there is one such line."""
    pairs = [each for each in watched.recorder.shared_memory.found.values() if each.looks >= TIMES]
    lines = [place for file in watched.tracer.chains.files() for place in _sharing(file)]
    if not pairs or len(lines) != 1:
        return []
    place, count = lines[0], len(pairs)
    return [
        Diagnosis(
            cause="tied-by-data",
            title="two parameters share their memory, but not their gradients",
            why=f"Line {place.line} gives one parameter the memory of another one. They stay two "
            "parameters: backward() gives each the gradient of its own uses only, and the "
            "optimizer steps twice in the same memory, with averages of its own for each.",
            error_line=place,
            created_at=[place],
            fixes=[Fix("tie-parameters", place, "let both names be one parameter")],
            spans=[Span("shared", place)],
            facts={"pairs": count},
        )
    ]


def _sharing(file: str) -> Iterator[Place]:
    """`a.weight.data = b.weight.data`, or without the second `.data`."""
    for node in ast.walk(source.tree_of(file)):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Attribute) and target.attr == "data":
            if isinstance(value, ast.Attribute):
                around = source.function_around(file, node.lineno)
                yield Place(file, node.lineno, "" if around is None else around.name)
