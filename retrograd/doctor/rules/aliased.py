"""A second name for a module that is to be a copy of it: a target network, an average."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

COPY = re.compile(r"target|ema|teacher|old|avg|average|swa|slow|shadow|momentum|frozen|polyak|best")
"""Words in the name of what is to stay behind, or apart."""

WRITES = frozenset(("copy_", "mul_", "lerp_", "add_"))


def diagnose(watched: Watched) -> list[Diagnosis]:
    """`target = policy`, where one is later to be updated from the other, and something steps."""
    if not watched.recorder.gradients.steps:
        return []
    found = []
    for file in watched.tracer.chains.files():
        tree = source.tree_of(file)
        for node, copy, original in _names(tree):
            line = next(_updates(tree, copy, original), 0)
            if line:
                found.append(_diagnosis(file, node.lineno, line, copy, original))
    return found[:1]


def _names(tree: ast.AST) -> Iterator[tuple[ast.Assign, str, str]]:
    """Statements that give a variable or attribute a second name, which nothing gives it again."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    for node in assigned:
        if len(node.targets) != 1 or not isinstance(node.value, (ast.Name, ast.Attribute)):
            continue
        if not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        copy, original = ast.unparse(node.targets[0]), ast.unparse(node.value)
        same = [each for each in assigned for t in each.targets if ast.unparse(t) == copy]
        if not COPY.search(copy.lower().split(".")[-1]) or len(same) != 1 or copy == original:
            continue
        yield node, copy, original
        for other in assigned:  # `self.student = model`, too
            if other is not node and ast.unparse(other.value) == original:
                yield node, copy, ast.unparse(other.targets[0])


def _updates(tree: ast.AST, copy: str, original: str) -> Iterator[int]:
    """Lines that take the values of one into the other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "load_state_dict" and len(node.args) == 1:
                state = node.args[0]
                if isinstance(state, ast.Call) and isinstance(state.func, ast.Attribute):
                    both = {ast.unparse(node.func.value), ast.unparse(state.func.value)}
                    if state.func.attr == "state_dict" and both == {copy, original}:
                        yield node.lineno
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            if getattr(node.iter.func, "id", "") != "zip":
                continue
            both = {
                ast.unparse(each.func.value)
                for each in node.iter.args
                if isinstance(each, ast.Call)
                and isinstance(each.func, ast.Attribute)
                and each.func.attr == "parameters"
            }
            if both == {copy, original} and any(_writes(each) for each in node.body):
                yield node.lineno


def _writes(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return any(isinstance(t, ast.Attribute) and t.attr == "data" for t in statement.targets)
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
        for node in ast.walk(statement)
    )


def _diagnosis(file: str, made: int, line: int, copy: str, original: str) -> Diagnosis:
    around = [source.function_around(file, each) for each in (made, line)]
    names = ["" if each is None else each.name for each in around]
    places = [Place(file, made, names[0]), Place(file, line, names[1])]
    return Diagnosis(
        cause="average-of-views",
        title=f"`{copy}` is `{original}` itself, and no copy of it",
        why=f"Line {made} gives the same module a second name. Each step of the optimizer changes "
        f"both, and line {line} copies its parameters onto themselves: there is nothing that "
        "stays behind.",
        error_line=places[1],
        created_at=places,
        fixes=[Fix("clone", places[0], "make a copy of the module")],
        spans=[Span("named", places[0]), Span("updated", places[1])],
        tensor=copy,
        facts={"alias": original},
    )
