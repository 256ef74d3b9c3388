"""What was kept of the parameters is no copy: it is compared with them, or written back to them.

`p.detach()`, `p.data` and `state_dict()` are other tensors over the same memory. The difference is
zero for ever: a penalty that should hold the weights near to what they were holds nothing, and a
report says that nothing has moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import second_pass
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.second_pass import Same
from retrograd.doctor.session import Watched
from retrograd.watching import source

PARAMETERS = frozenset(("parameters", "named_parameters", "state_dict"))
VIEWS = frozenset(("detach", "data"))
COPIES = frozenset("clone deepcopy copy_ numpy tolist tensor cat parameters_to_vector item".split())
TAKING = frozenset(("list", "dict", "tuple", "OrderedDict", "copy"))
COMPARING = frozenset(
    "sub dist mse_loss l1_loss smooth_l1_loss equal allclose isclose copy_ lerp_ add_".split()
)
WRITTEN = frozenset(("copy_", "lerp_", "add_"))


@dataclass(frozen=True)
class Kept:
    """A statement that keeps what shares the memory of parameters, and under which name."""

    place: Place
    name: str  # the last part: "anchor" of `self.anchor`


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that keeps. The program runs again only if the text has one."""
    if not watched.recorder.gradients.steps or not watched.recorder.gradients.optimizers:
        return []
    files = watched.tracer.chains.files()
    kept = [each for file in files for each in kept_in(file)]
    compared = any(_compares(node) for file in files for node in ast.walk(source.tree_of(file)))
    if not kept or not compared:
        return []
    found: dict[Place, Diagnosis] = {}
    for same in second_pass.find_same_memory(watched):
        for each in kept:
            if each.place not in found and _uses(same, each):
                found[each.place] = _diagnosis(each, same)
                break
    return list(found.values())


def kept_in(file: str) -> Iterator[Kept]:
    """The statements of a file."""
    tree = source.tree_of(file)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            owner = target.value if isinstance(target, ast.Subscript) else target
            name = _last(owner)
            if name and _shares(node.value, _over_parameters(tree, node)):
                yield Kept(_place(file, node.lineno), name)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and call.args:
                name = _last(call.func.value)
                if name and _shares(call.args[0], _over_parameters(tree, node)):
                    yield Kept(_place(file, node.lineno), name)


def _shares(value: ast.expr, bound: set[str]) -> bool:
    """Whether an expression shares the memory of parameters."""
    if any(_last(n.func) in COPIES for n in ast.walk(value) if isinstance(n, ast.Call)):
        return False
    if isinstance(value, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
        if len(value.generators) != 1 or not _gives(value.generators[0].iter):
            return False
        names = {n.id for n in ast.walk(value.generators[0].target) if isinstance(n, ast.Name)}
        element = value.value if isinstance(value, ast.DictComp) else value.elt
        return _is_view(element, names) or (isinstance(element, ast.Name) and element.id in names)
    if isinstance(value, ast.Call):
        if _last(value.func) == "state_dict":
            return True
        if _last(value.func) in TAKING:
            inner = value.args[0] if value.args else getattr(value.func, "value", None)
            return isinstance(inner, ast.expr) and (_gives(inner) or _shares(inner, bound))
    return _is_view(value, bound) or _is_view_of_weight(value)


def _is_view(node: ast.expr, names: set[str]) -> bool:
    """`p.detach()` or `p.data`."""
    inner = _viewed(node)
    return isinstance(inner, ast.Name) and inner.id in names


def _is_view_of_weight(node: ast.expr) -> bool:
    """`layer.weight.detach()`."""
    inner = _viewed(node)
    return isinstance(inner, ast.Attribute) and inner.attr in ("weight", "bias")


def _viewed(node: ast.expr) -> ast.expr | None:
    node = node.func if isinstance(node, ast.Call) and not node.args else node
    return node.value if isinstance(node, ast.Attribute) and node.attr in VIEWS else None


def _gives(node: ast.expr) -> bool:
    """`model.named_parameters()`, `model.state_dict().items()`."""
    return isinstance(node, ast.Call) and any(
        isinstance(n, ast.Call) and _last(n.func) in PARAMETERS for n in ast.walk(node)
    )


def _over_parameters(tree: ast.AST, inner: ast.stmt) -> set[str]:
    """The names that loops over parameters around a statement set."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and node.lineno <= inner.lineno <= (node.end_lineno or 0):
            if _gives(node.iter):
                found |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    return found


def _compares(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Sub)
    return isinstance(node, ast.Call) and _last(node.func) in COMPARING


def _uses(same: Same, kept: Kept) -> bool:
    """Whether a line, or a loop or a call on the way to it, reads what was kept."""
    place = same.stack[-1]
    statement = source.statement_at(place.file, place.line)
    if statement is None or _is_trivial(statement):
        return False
    if same.op in WRITTEN and "load_state_dict" in ast.unparse(statement):
        return False  # the library's own copying
    if place.file == kept.place.file and place.line == kept.place.line:
        return False
    for each in same.stack:
        scope: ast.AST = source.function_around(each.file, each.line) or source.tree_of(each.file)
        names = {_last(n) for n in ast.walk(scope) if isinstance(n, (ast.Name, ast.Attribute))}
        if kept.name in names or kept.name in _arguments(scope):
            return True
    return False


def _arguments(scope: ast.AST) -> set[str]:
    return {n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)}


def _is_trivial(statement: ast.stmt) -> bool:
    """`x - x` says itself what it is."""
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Sub)
        and ast.unparse(n.left) == ast.unparse(n.right)
        for n in ast.walk(statement)
    )


def _diagnosis(kept: Kept, same: Same) -> Diagnosis:
    used = same.stack[-1]
    what = f"Line {used.line} compares each parameter with itself: the difference is zero"
    if same.op in WRITTEN:
        what = f"Line {used.line} writes them into the parameters, each onto itself"
    return Diagnosis(
        cause="average-of-views",
        title=f"`{kept.name}` shares the memory of the parameters: it changes with them",
        why=f"Line {kept.place.line} keeps other tensors over the same memory, no copies. Each "
        f"step changes what was kept as well. {what}.",
        error_line=used,
        created_at=list(dict.fromkeys([kept.place, *reversed(same.stack)])),
        fixes=[Fix("clone", kept.place, "keep a copy")],
        spans=[Span("kept", kept.place), Span("used", used, same.stack)],
        tensor=kept.name,
        facts={"no_copy": True},
    )


def _place(file: str, line: int) -> Place:
    around = source.function_around(file, line)
    return Place(file, line, "" if around is None else around.name)


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))
