"""Parameters that fell through when those of a model were sorted into groups by their kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.ownership import Look

DELIBERATE = (
    *("teacher", "target", "frozen", "freeze", "fixed", "ema", "reference", "manual", "running"),
)
"""Words in a name that say: this parameter is not meant to be trained."""

SORTED = frozenset("parameters named_parameters modules named_modules".split())
"""What a program goes through that sorts all parameters of a model."""


def diagnose(watched: Watched, seen: list[Look]) -> Diagnosis | None:
    """What all looks at one optimizer have shown: the same parameters, always of the same value."""
    last = seen[-1]
    if len(seen) < 2 or not last.forgotten or any(x.forgotten != last.forgotten for x in seen):
        return None
    log = watched.tracer.log
    stack = watched.recorder.built_at.get(id(last.optimizer), [])
    built = log.place_of(stack)
    if built is None:
        return None
    names = list(last.forgotten)
    files = log.chains.files()
    sorts = [(file, node) for file in files for node in _sorting(source.tree_of(file))]
    if not sorts or any(_is_meant(name, files, sorts) for name in names):
        return None
    where = _falls_through(sorts) or built
    kind, some = type(last.optimizer).__name__, ", ".join(names[:3])
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"{kind} misses parameters of the model: {some}",
        why=f"The parameters are sorted into groups by their kind, and these are of none of the "
        f"kinds: {some}. They get gradients in each step, but no optimizer holds them: they keep "
        "their first values.",
        error_line=built,
        created_at=list(dict.fromkeys([*reversed(log.places_of(stack)), where])),
        fixes=[Fix("rebuild-optimizer", where, "put all other parameters into a group too")],
        spans=[
            Span("built", built, log.places_of(stack)),
            *([Span("sorted", where)] if where != built else []),
        ],
        tensor=names[0],
        facts={"held": last.held, "forgotten": len(names)},
    )


def _sorting(tree: ast.AST) -> Iterator[ast.AST]:
    """Loops and comprehensions over the parameters of a whole model, with a condition."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            if _goes_through(node.iter) and any(isinstance(n, ast.If) for n in ast.walk(node)):
                yield node
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            ifs = any(each.ifs for each in node.generators)
            if ifs and any(_goes_through(each.iter) for each in node.generators):
                yield node


def _goes_through(node: ast.expr) -> bool:
    """`model.named_parameters()`, but not `model.head.named_parameters()`."""
    return any(
        isinstance(inner, ast.Call)
        and isinstance(inner.func, ast.Attribute)
        and inner.func.attr in SORTED
        and _is_whole(inner.func.value)
        for inner in ast.walk(node)
    )


def _is_whole(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "self"
    return isinstance(node, ast.Name)


def _is_meant(name: str, files: list[str], sorts: list[tuple[str, ast.AST]]) -> bool:
    """Whether its name says so, a condition names it, or the program reads its gradient."""
    if any(word in name.lower() for word in DELIBERATE):
        return True
    if any(word in name for _, node in sorts for word in _words_of_conditions(node)):
        return True
    attribute = name.rpartition(".")[2]
    owner = name.split(".")[-2:-1]
    wanted = {attribute} if attribute not in ("weight", "bias") else set(owner)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and any(word in ast.unparse(node.value).split(".") for word in wanted)
        for file in files
        for node in ast.walk(source.tree_of(file))
    )


def _words_of_conditions(node: ast.AST) -> Iterator[str]:
    """The texts that the conditions of a loop or a comprehension compare with."""
    for outer in ast.walk(node):
        tests = [outer.test] if isinstance(outer, ast.If) else getattr(outer, "ifs", [])
        for test in tests:
            for inner in ast.walk(test):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.value


def _falls_through(sorts: list[tuple[str, ast.AST]]) -> Place | None:
    """The last condition of the one chain of conditions that has no `else`."""
    found: set[Place] = set()
    for file, loop in sorts:
        chained = [node for node in ast.walk(loop) if isinstance(node, ast.If)]
        found |= {
            Place(file, node.lineno)
            for node in chained
            if not node.orelse and not _skips(node) and any(node in o.orelse for o in chained)
        }
    return found.pop() if len(found) == 1 else None


def _skips(node: ast.If) -> bool:
    return any(isinstance(inner, ast.Continue) for inner in node.body)
