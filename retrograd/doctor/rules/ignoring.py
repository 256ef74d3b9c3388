"""A custom function whose backward leaves out the gradient that it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import second_pass
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 2

METADATA = frozenset("dtype device shape size ndim dim numel new_zeros new_ones layout".split())
"""What says nothing about the numbers of a gradient."""

LIKE = ("ones_like", "zeros_like", "empty_like", "full_like", "rand_like", "randn_like")


@dataclass(frozen=True)
class Candidate:
    """A class whose backward reads nothing of the numbers that it is given."""

    name: str
    place: Place  # of the line that returns
    header: Place
    gradient: str  # the name of the argument


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each class. The program runs again only if its text has such a class."""
    candidates = [each for file in watched.tracer.chains.files() for each in candidates_in(file)]
    if not candidates or not watched.recorder.calls:
        return []
    seen = second_pass.find_ignoring(watched, [each.name for each in candidates])
    return [
        _diagnosis(each, seen[each.name]) for each in candidates if seen.get(each.name, 0) >= TIMES
    ]


def candidates_in(file: str) -> Iterator[Candidate]:
    """The classes of a file with a `backward(ctx, gradient)` that reads no number of it."""
    for node in ast.walk(source.tree_of(file)):
        if not isinstance(node, ast.ClassDef) or not _is_function(node):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "backward":
                names = [each.arg for each in method.args.args[1:]]
                returned = [n for n in ast.walk(method) if isinstance(n, ast.Return) and n.value]
                if names and returned and not method.args.vararg and not _reads(method, names):
                    title = f"{node.name}.backward"
                    place = Place(file, returned[-1].lineno, title)
                    yield Candidate(node.name, place, Place(file, method.lineno, title), names[0])


def _is_function(node: ast.ClassDef) -> bool:
    return any(
        getattr(base, "attr", getattr(base, "id", "")).endswith("Function") for base in node.bases
    )


def _reads(method: ast.FunctionDef, names: list[str]) -> bool:
    """Whether a method reads one of its arguments, and more than its form."""
    parents = {child: node for node in ast.walk(method) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(method):
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            above = parents[node]
            formal = isinstance(above, ast.Attribute) and above.attr in METADATA
            like = isinstance(above, ast.Call) and getattr(above.func, "attr", "") in LIKE
            if not formal and not like:
                return True
    return False


def _diagnosis(candidate: Candidate, times: int) -> Diagnosis:
    place, gradient = candidate.place, candidate.gradient
    return Diagnosis(
        cause="custom-function",
        title=f"`{candidate.name}.backward` leaves out the gradient that it is given",
        why=f"By the chain rule it has to multiply by `{gradient}`. It was called again with other "
        f"numbers in {times} calls, and gave the same: what arrives there has nothing to do with "
        "the loss.",
        error_line=place,
        created_at=[place, candidate.header],
        fixes=[Fix("return-gradients", place, f"multiply by {gradient}")],
        spans=[Span("given", candidate.header), Span("returned", place)],
        tensor=gradient,
        facts={"calls": times, "partly": True, "leaves_out": gradient},
    )
