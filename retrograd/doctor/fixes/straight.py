"""Edits of a straight-through value that a loss was to be computed from as it was before."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, assigned, dotted, names_bound


def value_before(task: Task) -> None:
    """`q = z + (q - z).detach()`: what is compared with a detached `z` takes the `q` of before.

    The straight-through value gives its gradient to `z` alone. The term that is to move the table,
    `mse(q, z.detach())`, needs the rows themselves.
    """
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    inner = None if pair is None else rows_of(pair[1])
    if pair is None or inner is None or not isinstance(pair[0], ast.Name):
        raise CannotWrite("the line makes no straight-through value")
    kept, rows, value = pair[0].id, *inner
    name = rows
    if kept == rows:
        name = "rows"
        if name in names_bound(draft.tree) or "rows" in draft.text.split():
            raise CannotWrite("the name that the value would get is taken")
        draft.insert_before(statement, f"{name} = {rows}")
    block = draft.block_of(statement)
    changed = 0
    for following in block[block.index(statement) + 1 :]:
        for node in draft.walk(following):
            if not isinstance(node, ast.Name) or node.id != kept:
                continue
            if isinstance(node.ctx, ast.Store):
                raise CannotWrite("the variable is set again")
            if is_detached_beside(draft.parents[node], node, value):
                draft.rewrite(node, name)
                changed += 1
    if not changed:
        raise CannotWrite("nothing compares it with what is detached")


def rows_of(value: ast.expr) -> tuple[str, str] | None:
    """`q` and `z` of `z + (q - z).detach()`."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return None
    for rest, cut in ((value.left, value.right), (value.right, value.left)):
        if isinstance(cut, ast.Call) and isinstance(cut.func, ast.Attribute):
            difference = cut.func.value
            if cut.func.attr == "detach" and isinstance(difference, ast.BinOp):
                same = ast.unparse(difference.right) == ast.unparse(rest)
                if isinstance(difference.op, ast.Sub) and same and dotted(difference.left):
                    return dotted(difference.left), ast.unparse(rest)
    return None


def is_detached_beside(parent: ast.AST, node: ast.Name, value: str) -> bool:
    """`mse_loss(q, z.detach())` or `q - z.detach()`."""
    others: list[ast.expr] = []
    if isinstance(parent, ast.Call) and node in parent.args:
        others = [each for each in parent.args if each is not node]
    elif isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub):
        others = [parent.right if parent.left is node else parent.left]
    return any(ast.unparse(each) in (f"{value}.detach()", f"{value}.data") for each in others)
