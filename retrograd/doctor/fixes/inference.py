"""An edit of `inference_mode` whose results are used in training later: `no_grad` permits it."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, dotted, header_end

MODE = "inference_mode"


def no_grad_instead(task: Task) -> None:
    """`with torch.inference_mode():` becomes `with torch.no_grad():`; a decorator likewise."""
    draft, found = task.draft, _in_line(task)
    if not found:
        raise CannotWrite("the line does not switch inference mode on")
    for node in found:
        call = draft.parents[node]
        flag = _flag(call) if isinstance(call, ast.Call) and call.func is node else None
        constant = isinstance(flag, ast.Constant) and flag.value is True
        other = "no_grad" if flag is None or constant else "set_grad_enabled"
        if isinstance(node, ast.Attribute):
            end = draft.end(node)
            draft.replace(end - len(MODE), end, other)
        else:
            _rename(draft, node, other, task)
        if flag is None or not isinstance(call, ast.Call):
            continue
        start, end = draft.end(node), draft.end(call)
        if constant:
            draft.replace(start, end, "()")
        else:
            draft.replace(start, end, f"(not {draft.operand(flag)})")


def _flag(call: ast.Call) -> ast.expr | None:
    """What decides whether the mode is on."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return given[0] if len(given) == 1 else None


def _in_line(task: Task) -> list[ast.Name | ast.Attribute]:
    statement, draft = task.statement, task.draft
    roots: list[ast.AST] = [statement]
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        roots = list(statement.decorator_list)
    return [
        node
        for root in roots
        for node in draft.walk(root)
        if isinstance(node, (ast.Name, ast.Attribute))
        and dotted(node).rpartition(".")[2] == MODE
        and node.lineno <= max(header_end(statement), task.line)
    ]


def _rename(draft: Draft, node: ast.Name, other: str, task: Task) -> None:
    """A mode that was imported by its name: the other one comes from where it does."""
    for statement in ast.walk(draft.tree):
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if alias.name == MODE and alias.asname is None:
                    at = draft.offset(alias.end_lineno or 0, alias.end_col_offset or 0)
                    if all(each.name != other for each in statement.names):
                        draft.replace(at, at, f", {other}")
                    draft.rewrite(node, other)
                    return
    draft.rewrite(node, f"{task.torch()}.{other}")
