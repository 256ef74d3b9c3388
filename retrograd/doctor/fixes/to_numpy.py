"""Edits of lines that hand a tensor with history to NumPy, or to what asks for an array."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, call_statement, called, names_bound

_MOVES = ("cpu", "numpy")


def detach_for_array(task: Task) -> None:
    """`td.numpy()` becomes `td.detach().numpy()`, and `np.mean(losses)` gets detached ones."""
    draft = task.draft
    arrays = task.diagnosis.facts.get("arrays")
    if not isinstance(arrays, list) or not arrays:
        raise CannotWrite("nothing of the line is to become an array")
    statement = task.statement
    if not any(
        line <= (statement.end_lineno or 0) and statement.lineno <= last
        for line, _, last, _, _ in arrays
    ):
        _detach_collected(task)
        return
    for line, column, last, end, kind in arrays:
        node = next(
            (
                n
                for n in ast.walk(draft.tree)
                if isinstance(n, ast.expr)
                and (n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
                == (line, column, last, end)
            ),
            None,
        )
        if node is None:
            raise CannotWrite("the expression is not in the file")
        while isinstance(node, ast.Call) and called(node) in _MOVES and not node.args:
            if not isinstance(node.func, ast.Attribute):
                break
            node = node.func.value  # `x.cpu()` of x
        if kind == "list":
            name = "each" if "each" not in names_bound(draft.tree) else "part"
            draft.rewrite(node, f"[{name}.detach() for {name} in {draft.written(node)}]")
        else:
            draft.suffix(node, ".detach()")


def _detach_collected(task: Task) -> None:
    """`rows.append(scores)`: the list that is to become an array keeps no history."""
    call = call_statement(task.statement, "append")
    if call is None or len(call.args) != 1:
        raise CannotWrite("the line keeps no tensor by itself")
    task.draft.suffix(call.args[0], ".detach()")
