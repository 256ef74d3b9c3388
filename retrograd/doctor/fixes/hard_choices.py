"""Edits of choices that have no gradient, argmax, a threshold, a sample: their soft forms."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, assigned, called, dotted, names_read

_TO_NUMBERS = ("float", "double", "half", "to", "type", "type_as", "long", "int")
_ABOVE, _BELOW = (ast.Gt, ast.GtE), (ast.Lt, ast.LtE)
_SHARES = ("softmax", "sigmoid", "gumbel_softmax")
"""Functions whose results are probabilities."""


def soften(task: Task) -> None:
    """The probabilities instead of the choice that was made by them."""
    draft, statement = task.draft, task.statement
    changes = list(_soft_forms(task, statement))
    if not changes:
        pair = assigned(statement)
        if pair is not None and isinstance(pair[0], ast.Name) and _is_argmax(pair[1]):
            name, scope = pair[0].id, draft.scope_of(statement)
            for user in ast.walk(scope):
                if isinstance(user, ast.stmt) and not hasattr(user, "body"):
                    changes += _soft_forms(task, user) if name in names_read(user) else []
    if len(changes) != 1:
        raise CannotWrite("not exactly one choice with a soft form is plain to see in the line")
    draft.rewrite(*changes[0])


def straight_through(task: Task) -> None:
    """`round(x)` becomes `x + (round(x) - x).detach()`: its value, and the slope of `x`."""
    draft, name = task.draft, str(task.diagnosis.facts.get("flat", ""))
    statement = task.statement
    calls = [n for n in draft.walk(statement) if isinstance(n, ast.Call) and called(n) == name]
    if not name or len(calls) != 1 or not isinstance(calls[0].func, ast.Attribute):
        raise CannotWrite("not exactly one such call is plain to see in the line")
    call, function = calls[0], calls[0].func
    assert isinstance(function, ast.Attribute)
    by_method = dotted(function.value) != task.torch()
    if call.keywords or len(call.args) != (not by_method):
        raise CannotWrite("the call has further arguments")
    value = function.value if by_method else call.args[0]
    text, name = draft.written(call), draft.written(value)
    if not isinstance(value, ast.Name):
        name = "exact"
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(draft.tree)):
            raise CannotWrite("the name that the value would get is taken")
        draft.insert_before(statement, f"{name} = {draft.written(value)}")
        text = f"{name}.{called(call)}()" if by_method else f"{task.torch()}.{called(call)}({name})"
    alone = isinstance(draft.parents[call], (ast.Assign, ast.Return, ast.Call, ast.keyword))
    form = f"{name} + ({text} - {name}).detach()"
    draft.rewrite(call, form if alone else f"({form})")


def draw_with_slope(task: Task) -> None:
    """`torch.normal(mean, std)` becomes `mean + std * torch.randn_like(std)`."""
    draft, torch = task.draft, task.torch()
    calls = [
        node
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Call) and dotted(node.func) == f"{torch}.normal"
    ]
    if len(calls) != 1 or len(calls[0].args) != 2 or calls[0].keywords:
        raise CannotWrite("not exactly one draw is plain to see in the line")
    mean, std = (draft.operand(each) for each in calls[0].args)
    form = f"{mean} + {std} * {torch}.randn_like({mean})"
    alone = isinstance(draft.parents[calls[0]], (ast.Assign, ast.Return))
    draft.rewrite(calls[0], form if alone else f"({form})")


def _soft_forms(task: Task, statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """Expressions of a statement that make a choice, each with its soft form."""
    draft, covered = task.draft, set[ast.AST]()
    for node in draft.walk(statement):
        if node in covered or not isinstance(node, ast.expr):
            continue
        whole, inner = node, _as_numbers(node)
        soft = _threshold(task, inner) if inner is not node else ""
        soft = soft or _one_of_many(task, inner) or _row_of_table(task, node)
        soft = soft or _sampled(draft, node)
        if soft:
            covered.update(ast.walk(whole))
            alone = isinstance(draft.parents[whole], (ast.stmt, ast.Call, ast.keyword))
            yield whole, soft if alone or " @ " not in soft else f"({soft})"


def _as_numbers(node: ast.expr) -> ast.expr:
    """`x > 0` of `(x > 0).float()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _TO_NUMBERS:
            return node.func.value
    return node


def _threshold(task: Task, node: ast.expr) -> str:
    """`p > 0.5` is p itself; `x > limit` of another value the sigmoid of the distance."""
    draft = task.draft
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return ""
    value, limit, sign = node.left, node.comparators[0], node.ops[0]
    if not isinstance(sign, (*_ABOVE, *_BELOW)):
        return ""
    if is_share(draft, value):
        text = draft.operand(value)
        return text if isinstance(sign, _ABOVE) else f"(1 - {text})"
    high, low = (value, limit) if isinstance(sign, _ABOVE) else (limit, value)
    if isinstance(low, ast.Constant) and low.value == 0:
        return f"{task.torch()}.sigmoid({draft.written(high)})"
    return f"{task.torch()}.sigmoid({draft.operand(high)} - {draft.operand(low)})"


def _one_of_many(task: Task, node: ast.expr) -> str:
    """`one_hot(x.argmax(-1), n)` becomes `softmax(x, -1)`."""
    if not isinstance(node, ast.Call) or called(node) != "one_hot" or not node.args:
        return ""
    return _shares_of(task, node.args[0])


def _row_of_table(task: Task, node: ast.expr) -> str:
    """`table[x.argmax(-1)]`, `embedding(x.argmax(-1))`: the mean of the rows, by their shares."""
    draft = task.draft
    if isinstance(node, ast.Subscript):
        table, choice = dotted(node.value), node.slice
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        owner = dotted(node.func)
        made = _value_of(draft, node, owner)
        is_table = isinstance(made, ast.Call) and called(made) == "Embedding"
        table, choice = (f"{owner}.weight" if is_table else ""), node.args[0]
    else:
        return ""
    shares = _shares_of(task, choice) if table else ""
    return f"{shares} @ {table}" if shares else ""


def _shares_of(task: Task, choice: ast.expr) -> str:
    """The probabilities of what an argmax chooses from."""
    draft = task.draft
    made = _value_of(draft, choice, dotted(choice)) if dotted(choice) else choice
    if not isinstance(made, ast.Call) or not _is_argmax(made):
        return ""
    given = [*made.args]
    by_method = isinstance(made.func, ast.Attribute) and dotted(made.func.value) != task.torch()
    if by_method:
        assert isinstance(made.func, ast.Attribute)
        given.insert(0, made.func.value)
    given += [keyword.value for keyword in made.keywords if keyword.arg in ("dim", "axis")]
    if len(given) != 2 or any(k.arg not in ("dim", "axis") for k in made.keywords):
        return ""
    scores, dim = given
    if is_share(draft, scores):
        return draft.operand(scores)
    return f"{task.torch()}.softmax({draft.written(scores)}, {draft.written(dim)})"


def _is_argmax(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and called(node) == "argmax"


def _sampled(draft: Draft, node: ast.expr) -> str:
    """`distribution.sample()` becomes `rsample()`, which differentiates through the sample."""
    if isinstance(node, ast.Call) and called(node) == "sample":
        if isinstance(node.func, ast.Attribute):
            start, end = draft.start(node), draft.end(node.func)
            return (
                draft.text[start : end - len("sample")]
                + "rsample"
                + draft.text[end : draft.end(node)]
            )
    return ""


def is_share(draft: Draft, node: ast.expr) -> bool:
    """Whether an expression gives probabilities, by what made it or, of an argument, its name."""
    made = _value_of(draft, node, dotted(node)) if dotted(node) else node
    if made is None:
        return "prob" in dotted(node).lower()
    return isinstance(made, ast.Call) and called(made) in _SHARES


def _value_of(draft: Draft, node: ast.expr, name: str) -> ast.expr | None:
    """What a variable is bound to: in the function of a node, of an attribute in the whole file."""
    scope = draft.tree if "." in name else draft.scope_of(node)
    made = [
        pair[1]
        for statement in ast.walk(scope)
        if isinstance(statement, ast.stmt)
        and (pair := assigned(statement)) is not None
        and dotted(pair[0]) == name
        and ("." in name or statement.lineno <= node.lineno)
    ]
    return made[-1] if made else None
