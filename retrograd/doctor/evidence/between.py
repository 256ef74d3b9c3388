"""What lies between two backward calls of one loss: gradients cleared, gradients looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence.repeats import Repetition
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.records import Call

DEEPEST = 3  # functions that are called between the two, and those that they call


def cleared(first: Call, second: Call, watched: Watched) -> bool:
    """Whether gradients of the first call were cleared before a step had used them."""
    return any(
        zero.lost and first.index < zero.calls <= second.index
        for zero in watched.recorder.gradients.zeros
    )


def gradients_looked_at(first: Call, second: Call) -> bool:
    """Whether the lines that ran between the two calls read gradients, as far as the text shows."""
    return any(
        _looks_at_gradients(statement, file, DEEPEST)
        for file, statement in _statements_between(first, second)
    )


def apart(first: Call, second: Call, repetition: Repetition | None, watched: Watched) -> bool:
    """Whether the program wants the gradients of the two calls one by one.

    They are looked at in between, in a loop also cleared: the gradient of a sum would not do.
    """
    if repetition is None:
        return gradients_looked_at(first, second)
    if not cleared(first, second, watched):
        return False
    if repetition.loop is None:
        return gradients_looked_at(first, second)
    loop = repetition.loop
    return any(
        _looks_at_gradients(node, repetition.file, DEEPEST)
        for node in ast.walk(source.tree_of(repetition.file))
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)) and loop.holds(node.lineno)
    )


def _statements_between(first: Call, second: Call) -> Iterator[tuple[str, ast.stmt]]:
    """The simple statements after the first call and before the second, outermost frame first."""
    places = first.log.places_of(first.stack), second.log.places_of(second.stack)
    common = 0
    for before, after in zip(first.stack, second.stack, strict=False):
        if before.chain != after.chain or before.line != after.line:
            break
        common += 1
    if common < min(len(places[0]), len(places[1])):
        start, end = places[0][common], places[1][common]
        if (start.file, start.function) == (end.file, end.function):
            yield from _lines_of(start, start.line, end.line)
    for place in places[0][common + 1 :]:  # the functions that the first call returned from
        yield from _lines_of(place, place.line, None)
    for place in places[1][common + 1 :]:  # those that led to the second
        yield from _lines_of(place, 0, place.line)


def _lines_of(place: Place, after: int, before: int | None) -> Iterator[tuple[str, ast.stmt]]:
    function = source.function_around(place.file, place.line)
    scope: ast.AST = source.tree_of(place.file) if function is None else function
    for node in ast.walk(scope):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)):
            if node.lineno > after and (before is None or node.lineno < before):
                yield place.file, node


def _looks_at_gradients(node: ast.AST, file: str, depth: int) -> bool:
    """`.grad` that is read, the norm that clipping returns, or a function that does either."""
    dropped = isinstance(node, ast.Expr)
    inner = list(ast.walk(node))
    called = {id(part.func) for part in inner if isinstance(part, ast.Call)}
    cleared = {
        id(part.func.value)
        for part in inner
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("zero_", "detach_")
    }
    for part in inner:
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            if isinstance(part.ctx, ast.Load) and id(part) not in called | cleared:
                return True
        if isinstance(part, ast.Call):
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            if name.startswith("clip_grad") and not dropped:
                return True
            if depth and any(
                _looks_at_gradients(statement, file, depth - 1)
                for function in _functions_named(name, file)
                for statement in function.body
            ):
                return True
    return False


def _functions_named(name: str, file: str) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.walk(source.tree_of(file))
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]


def runs_over_users(repetition: Repetition, failing: Place, direct: bool) -> bool:
    """Whether the loop goes over those that use a loss: optimizers, trainers, callbacks.

    direct  the loop's own line sends the loss back, not a function that it calls
    """
    if repetition.loop is None:
        return False
    for node in ast.walk(source.tree_of(repetition.file)):
        if not isinstance(node, (ast.For, ast.AsyncFor)) or node.lineno != repetition.loop.header:
            continue
        names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        for part in ast.walk(node):
            if not isinstance(part, ast.Call):
                continue
            wanted = part.func
            if isinstance(part.func, ast.Attribute) and part.func.attr in ("step", "zero_grad"):
                wanted = part.func.value
            elif direct or part.lineno != failing.line:
                continue
            if any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(wanted)):
                return True
    return False


def statement_to_drop(stack: list[Place]) -> Place | None:
    """The statement that makes a call: outside of functions that do nothing else."""
    for place in reversed(stack):
        statement = source.statement_at(place.file, place.line)
        if not isinstance(statement, ast.Expr):
            return place
        function = source.function_around(place.file, place.line)
        body = [] if function is None else [s for s in function.body if not _is_text(s)]
        if len(body) != 1 or body[0] is not statement:
            return place
    return stack[-1] if stack else None


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
