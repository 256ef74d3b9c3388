"""Second forms of edits: arguments set elsewhere, too many steps, tensors beside parameters."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.backward_calls import remove_argument
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, assigned, call_statement, called

_KEEPING = ("retain_graph", "create_graph")


def drop_setting(task: Task) -> None:
    """`partial(backward, retain_graph=True)`, `{"retain_graph": True}`, `backward(None, True)`."""
    draft = task.draft
    for node in draft.walk(task.statement):
        if isinstance(node, ast.Call) and called(node) not in ("backward", "grad"):
            for keyword in node.keywords:
                if keyword.arg in _KEEPING and _is_true(keyword.value):
                    remove_argument(draft, node, keyword)
                    return
        elif isinstance(node, ast.Call):
            given = [argument for argument in node.args if _is_true(argument)]
            if len(given) == 1 and not node.keywords:
                draft.rewrite(given[0], "False")
                return
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in _KEEPING and _is_true(value):
                    draft.rewrite(value, "False")
                    return
    raise CannotWrite("the line does not set the argument")


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def step_where_cleared(task: Task) -> None:
    """The step goes where the gradients are cleared: `if i % 4 == 3: step(); zero_grad()`."""
    draft, step = task.draft, task.statement
    if task.diagnosis.cause != "zero-grad-misuse" or call_statement(step, "step") is None:
        raise CannotWrite("it is no step")
    block = draft.block_of(step)
    for branch in block[block.index(step) + 1 :]:
        if not isinstance(branch, ast.If) or branch.orelse:
            continue
        for statement in branch.body:
            if call_statement(statement, "zero_grad") is not None:
                text = draft.written(step)
                draft.remove(step)
                draft.insert_before(statement, text)
                return
    raise CannotWrite("no branch after the step clears the gradients")


def tensor_for_parameter(task: Task) -> None:
    """`layer.weight = nn.Parameter(w)`: w itself, which `del` of the parameter makes room for."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    calls = [n for n in draft.walk(statement) if isinstance(n, ast.Call)]
    made = [call for call in calls if called(call) == "Parameter"]
    if pair is None or len(made) != 1:
        raise CannotWrite("the line does not make one parameter")
    target, value = pair[0], made[0]
    if len(value.args) != 1 or value.keywords or isinstance(value.args[0], ast.Starred):
        raise CannotWrite("the call has further arguments")
    if isinstance(target, ast.Attribute):  # a module takes no tensor in place of a parameter
        draft.insert_before(statement, f"del {draft.written(target)}")
    elif not isinstance(target, ast.Name):
        raise CannotWrite("the parameter is kept in a collection")
    draft.rewrite(value, draft.written(value.args[0]))


def make_parameter(task: Task) -> None:
    """`self.scale = torch.ones(8, requires_grad=True)` becomes a parameter."""
    pair = assigned(task.statement)
    if pair is None or not isinstance(pair[0], ast.Attribute):
        raise CannotWrite("the line assigns no attribute")
    value = pair[1]
    if not isinstance(value, ast.Call):
        raise CannotWrite("the line makes no tensor")
    for keyword in value.keywords:
        if keyword.arg == "requires_grad" and _is_true(keyword.value):
            draft = task.draft
            plain = ast.unparse(
                ast.Call(value.func, value.args, [k for k in value.keywords if k is not keyword])
            )
            draft.rewrite(value, f"{task.modules()}.Parameter({plain})")
            return
    raise CannotWrite("the tensor is not made to require grad in the line")
