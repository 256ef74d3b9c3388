"""Edits that keep copies of parameters, where their memory was kept."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, called, names_bound, names_read


def copy_what_is_kept(task: Task) -> None:
    """`p.detach()` becomes `p.detach().clone()`, and `model.state_dict()` a deep copy."""
    draft, statement = task.draft, task.statement
    if not task.diagnosis.facts.get("no_copy"):
        raise CannotWrite("what is kept is no view")
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and value.args:
        value = value.args[0]  # kept.append(p.detach())
    if isinstance(value, ast.Call) and called(value) in ("list", "tuple", "dict") and value.args:
        inner = value.args[0]
        if isinstance(inner, ast.GeneratorExp):
            value = inner
    if isinstance(value, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
        value = value.value if isinstance(value, ast.DictComp) else value.elt
    if not isinstance(value, ast.expr):
        raise CannotWrite("the line keeps something else")
    if isinstance(value, ast.Name):
        draft.suffix(value, ".detach().clone()")
    elif isinstance(value, ast.Attribute) or (
        isinstance(value, ast.Call) and called(value) == "detach"
    ):
        draft.suffix(value, ".clone()")
    else:
        draft.rewrite(value, f"{deepcopy_name(draft)}({draft.written(value)})")


def deepcopy_name(draft: Draft) -> str:
    """The name of `copy.deepcopy` in the file, which gets an import if it has none."""
    for node in draft.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "copy":
                    return f"{alias.asname or 'copy'}.deepcopy"
        elif isinstance(node, ast.ImportFrom) and node.module == "copy":
            for alias in node.names:
                if alias.name == "deepcopy":
                    return alias.asname or "deepcopy"
    taken = names_read(draft.tree) | names_bound(draft.tree)
    imports = [n for n in draft.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    first = [n for n in imports if not (isinstance(n, ast.ImportFrom) and n.module == "__future__")]
    if not first or "copy" in taken:
        raise CannotWrite("there is no place for the import of copy")
    draft.insert_before(first[0], "import copy")
    return "copy.deepcopy"
