"""Edits of losses that compare the chosen class with the right one: the scores are compared."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, assigned, called, dotted, names_read

COMPARING = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "nll_loss", "cross_entropy")
LAST = (1, -1)  # dimensions of classes


def compare_scores(task: Task) -> None:
    """`mse_loss(scores.argmax(1).float(), labels.float())` becomes `cross_entropy(scores, labels)`.

    Which of several classes is right has no distance: the scores of all of them say what to change.
    """
    draft, statement = task.draft, _choosing(task)
    choices = [node for node in draft.walk(statement) if _is_choice(node)]
    if len(choices) != 1:
        raise CannotWrite("not exactly one choice is plain to see in the line")
    choice = choices[0]
    assert isinstance(choice, ast.Call)
    scores = _scores_of(task, choice)
    pair = assigned(statement)
    named = pair is not None and isinstance(pair[0], ast.Name) and _plain(pair[1]) is choice
    if named:
        assert pair is not None
        assert isinstance(pair[0], ast.Name)
        users = [
            node
            for node in draft.block_of(statement)
            if node.lineno > statement.lineno and pair[0].id in names_read(node)
        ]
        found = [each for user in users for each in _losses(task, user, pair[0].id, choice)]
    else:
        found = _losses(task, statement, "", choice)
    if len(found) != 1:
        raise CannotWrite("not exactly one loss compares the choice")
    loss, labels = found[0]
    text = draft.written(scores)
    if named and not isinstance(scores, ast.Name):
        text = "scores"
        if any(isinstance(n, ast.Name) and n.id == text for n in ast.walk(draft.tree)):
            raise CannotWrite("the name that the scores would get is taken")
        draft.insert_before(statement, f"{text} = {draft.written(scores)}")
        draft.rewrite(scores, text)
    function = f"{_functional(task)}.cross_entropy"
    draft.rewrite(loss, f"{function}({text}, {draft.written(labels)})")


def _choosing(task: Task) -> ast.stmt:
    """The line of a fix, or the one before it that made the choice which the line compares."""
    draft, statement = task.draft, task.statement
    if any(_is_choice(node) for node in draft.walk(statement)):
        return statement
    names = names_read(statement)
    made = [
        node
        for node in draft.block_of(statement)
        if node.lineno < statement.lineno
        and (pair := assigned(node)) is not None
        and dotted(pair[0]) in names
        and _is_choice(_plain(pair[1]))
    ]
    if len(made) != 1:
        raise CannotWrite("the line makes no choice")
    return made[0]


def _is_choice(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) == "argmax"


def _scores_of(task: Task, choice: ast.Call) -> ast.expr:
    """What an argmax over classes chooses from."""
    given = [*choice.args, *(k.value for k in choice.keywords if k.arg in ("dim", "axis"))]
    owner = choice.func.value if isinstance(choice.func, ast.Attribute) else None
    if owner is not None and dotted(owner) != task.torch():
        given.insert(0, owner)
    if len(given) != 2 or ast.unparse(given[1]) not in [str(each) for each in LAST]:
        raise CannotWrite("it is not a choice among classes")
    return given[0]


def _plain(node: ast.expr) -> ast.expr:
    """`labels` of `labels.float()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if called(node) not in ("float", "double", "long", "to", "type"):
            break
        node = node.func.value
    return node


def _losses(
    task: Task, statement: ast.stmt, name: str, choice: ast.Call
) -> list[tuple[ast.expr, ast.expr]]:
    """The losses in a statement that are given a choice, each with its labels."""

    def is_chosen(node: ast.expr) -> bool:
        inner = _plain(node)
        return inner is choice or (isinstance(inner, ast.Name) and inner.id == name)

    if hasattr(statement, "body"):
        return []
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in task.draft.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        sides = node.args if _is_loss(node) else _sides_of_mean(node)
        if len(sides) == 2 and is_chosen(sides[0]) != is_chosen(sides[1]):
            found.append((node, _plain(sides[1] if is_chosen(sides[0]) else sides[0])))
    return found


def _is_loss(call: ast.Call) -> bool:
    name = dotted(call.func).rpartition(".")[2].lower()
    return name in COMPARING or "loss" in name or "crit" in name


def _sides_of_mean(call: ast.Call) -> list[ast.expr]:
    """The sides of `(chosen != labels).float().mean()`, or of the mean of a squared difference."""
    if called(call) not in ("mean", "sum") or not isinstance(call.func, ast.Attribute):
        return []
    inner: ast.expr = call.func.value
    while True:
        before = inner
        inner = _plain(inner)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow):
            inner = inner.left
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            if called(inner) in ("abs", "pow", "square"):
                inner = inner.func.value
        if inner is before:
            break
    if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.NotEq):
        return [inner.left, inner.comparators[0]]
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
        return [inner.left, inner.right]
    return []


def _functional(task: Task) -> str:
    """The name under which the file knows torch.nn.functional."""
    for node in ast.walk(task.draft.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else ""
                if "torch.nn.functional" in (alias.name, whole) and alias.asname:
                    return alias.asname
    return f"{task.modules()}.functional"
