"""Edits that keep an operation off the numbers at which its derivative is infinite."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, called, dotted

TINY = "1e-12"
FROM_BELOW = {
    "Sqrt": ("sqrt",),
    "Rsqrt": ("rsqrt",),
    "Log": ("log",),
    "Log2": ("log2",),
    "Log10": ("log10",),
    "Pow": ("pow",),
    "Reciprocal": ("reciprocal",),
}
BETWEEN = {"Acos": ("acos", "arccos"), "Asin": ("asin", "arcsin")}


def clamp_operand(task: Task) -> None:
    """`sqrt(x)` becomes `sqrt(x.clamp_min(1e-12))`: there the slope is a number, below it zero."""
    draft, operation = task.draft, str(task.diagnosis.facts.get("op", ""))
    names = FROM_BELOW.get(operation) or BETWEEN.get(operation) or ()
    clamp = f".clamp_min({TINY})" if operation in FROM_BELOW else ".clamp(-1 + 1e-6, 1 - 1e-6)"
    operands = [
        found
        for node in draft.walk(task.statement)
        if (found := _operand(task, node, names)) is not None
    ]
    if len(operands) != 1:
        raise CannotWrite("not exactly one such operation is plain to see in the line")
    draft.suffix(operands[0], clamp)


def _operand(task: Task, node: ast.AST, names: tuple[str, ...]) -> ast.expr | None:
    """What the operation is applied to: `x` of `torch.sqrt(x)`, `x.sqrt()`, `x ** 0.5`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and "pow" in names:
        return None if _is_whole(node.right) else node.left
    if (
        not isinstance(node, ast.Call)
        or called(node) not in names
        or any(map(_is_whole, node.args))
    ):
        return None
    assert isinstance(node.func, (ast.Attribute, ast.Name))
    if isinstance(node.func, ast.Attribute) and dotted(node.func.value) != task.torch():
        return node.func.value
    return node.args[0] if node.args else None


def _is_whole(exponent: ast.expr) -> bool:
    """Whether a power is one that has a slope everywhere."""
    return isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)
