"""An average of the weights that shares their memory: it is no average, and changes the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

TIMES = 3
SHARE = 0.75  # of the steps that were looked at
PARAMETERS = frozenset(("parameters", "named_parameters"))
AVERAGING = frozenset(("mul_", "lerp_"))
VIEWS = frozenset(("detach", "data"))


def diagnose(watched: Watched) -> list[Diagnosis]:
    """Parameters are written between steps, and the text keeps an average in views of them."""
    between = watched.recorder.outside.between.values()
    if not any(b.written >= TIMES and b.written >= SHARE * b.looks for b in between):
        return []
    found = []
    for file in watched.tracer.chains.files():
        tree = source.tree_of(file)
        for kept, name in _kept(tree):
            writes = list(_averages(tree, name))
            if writes:
                found.append(_diagnosis(file, kept.lineno, writes[0], name))
    return found[:1]


def _kept(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Statements that keep views of all parameters, and what the collection is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            value = node.value
            if isinstance(value, (ast.ListComp, ast.DictComp)) and len(value.generators) == 1:
                element = value.value if isinstance(value, ast.DictComp) else value.elt
                names = _parameters_in(value.generators[0].target, value.generators[0].iter)
                if _is_view(element, names) and _last(node.targets[0]):
                    yield node, _last(node.targets[0])
        elif isinstance(node, ast.For):
            names = _parameters_in(node.target, node.iter)
            for inner in node.body if names else ():
                if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Subscript):
                    name = _last(inner.targets[0].value)
                    if name and _is_view(inner.value, names):
                        yield inner, name


def _averages(tree: ast.AST, name: str) -> Iterator[int]:
    """The lines that average parameters into what a collection of this name holds."""
    for loop in ast.walk(tree):
        if not isinstance(loop, ast.For) or not _calls(loop.iter) & PARAMETERS:
            continue
        bound = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
        over = any(_last(each) == name for each in ast.walk(loop.iter))
        for statement in loop.body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call) or not _calls(call) & AVERAGING:
                continue
            item = any(
                isinstance(each, ast.Subscript) and _last(each.value) == name
                for each in ast.walk(call.func)
            )
            root = {each.id for each in ast.walk(call.func) if isinstance(each, ast.Name)}
            given = [argument for each in _chain(call) for argument in each.args]
            if (item or (over and root & bound)) and any(_is_value(each, bound) for each in given):
                yield statement.lineno


def _chain(call: ast.expr) -> Iterator[ast.Call]:
    """The calls of `a.mul_(d).add_(p)`."""
    while isinstance(call, ast.Call):
        yield call
        call = call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _is_value(node: ast.expr, names: set[str]) -> bool:
    """`p`, `p.data` or `p.detach()` of a parameter; `p.grad` is something else."""
    node = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Attribute) and node.attr in VIEWS:
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


def _is_view(node: ast.expr, names: set[str]) -> bool:
    """`p.detach()` or `p.data`, and no copy of it."""
    node = node.func if isinstance(node, ast.Call) and not node.args else node
    return (
        isinstance(node, ast.Attribute)
        and node.attr in VIEWS
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    )


def _parameters_in(target: ast.expr, over: ast.expr) -> set[str]:
    if not (isinstance(over, ast.Call) and _last(over.func) in PARAMETERS):
        return set()
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _calls(node: ast.AST) -> set[str]:
    return {_last(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _diagnosis(file: str, kept: int, written: int, name: str) -> Diagnosis:
    places = [_place(file, kept), _place(file, written)]
    return Diagnosis(
        cause="average-of-views",
        title=f"the average in `{name}` shares the memory of the weights that it averages",
        why=f"Line {kept} keeps detached views of the parameters: other tensors, the same numbers. "
        f"Line {written} writes the average into them, and so into the model: there is no average "
        "apart from the weights, and each update changes what is trained.",
        error_line=places[1],
        created_at=places,
        fixes=[Fix("clone", places[0], "keep copies of the parameters")],
        spans=[Span("created", places[0]), Span("averaged", places[1])],
        facts={"views": True, "name": name},
    )


def _place(file: str, line: int) -> Place:
    around = source.function_around(file, line)
    return Place(file, line, "" if around is None else around.name)
