"""Edits of what a loss is given: raw scores or logarithms, and values of one shape."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, assigned, called, dotted

MODULES = {"softmax": "Softmax", "sigmoid": "Sigmoid"}
OTHER_LOSS = {
    "binary_cross_entropy_with_logits": ("binary_cross_entropy", "BCEWithLogitsLoss", "BCELoss"),
    "nll_loss": ("cross_entropy", "NLLLoss", "CrossEntropyLoss"),
}
"""By loss: the one that expects what it is given, and the modules of both."""


def match_activation(task: Task) -> None:
    """The activation goes; for a loss that wants logarithms, it becomes `log_softmax`."""
    draft, name = task.draft, str(task.diagnosis.facts.get("activation", ""))
    if not name:
        raise CannotWrite("there is no activation")
    with_log = task.diagnosis.facts.get("function") == "nll_loss"
    if with_log and name != "softmax":
        raise CannotWrite("there is no such activation with a logarithm")
    made = _modules_called(draft, name)
    calls = [
        node
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Call)
        and (called(node) == name or dotted(node.func).rpartition(".")[2] in made)
    ]
    if len(calls) == 1 and called(calls[0]) == name:
        call = calls[0]
        assert isinstance(call.func, (ast.Attribute, ast.Name))
        if with_log:
            _rename(draft, call, "log_softmax")
        else:
            draft.rewrite(call, _operand(task, call))
    elif len(calls) == 1 and not with_log and len(calls[0].args) == 1:
        draft.rewrite(calls[0], draft.written(calls[0].args[0]))
    else:
        _in_modules(draft, MODULES[name], with_log)


def _operand(task: Task, call: ast.Call) -> str:
    """What an activation is applied to."""
    function = call.func
    if isinstance(function, ast.Attribute) and dotted(function.value) not in _libraries(task):
        return task.draft.written(function.value)
    if not call.args:
        raise CannotWrite("the call has no plain argument")
    return task.draft.written(call.args[0])


def _libraries(task: Task) -> set[str]:
    found = {task.torch()}
    for node in ast.walk(task.draft.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def _modules_called(draft: Draft, name: str) -> set[str]:
    """How the program calls modules of the activation: `act` of `self.act = nn.Softmax(1)`."""
    return {
        dotted(pair[0]).rpartition(".")[2]
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.stmt)
        and (pair := assigned(node)) is not None
        and isinstance(pair[1], ast.Call)
        and called(pair[1]) == MODULES[name]
    }


def _in_modules(draft: Draft, kind: str, with_log: bool) -> None:
    """The last module of the one `nn.Sequential` that ends with such an activation."""
    found = [
        (sequence, sequence.args[-1])
        for sequence in ast.walk(draft.tree)
        if isinstance(sequence, ast.Call) and called(sequence) == "Sequential" and sequence.args
    ]
    last = [
        (sequence, module)
        for sequence, module in found
        if isinstance(module, ast.Call) and called(module) == kind
    ]
    if len(last) != 1 or len(last[0][0].args) < 2:
        raise CannotWrite("not exactly one activation is plain to see")
    sequence, module = last[0]
    if with_log:
        _rename(draft, module, f"Log{kind}")
        return
    before = sequence.args[-2]
    draft.replace(draft.end(before), draft.end(module), "")


def _rename(draft: Draft, call: ast.Call, name: str) -> None:
    if not isinstance(call.func, ast.Attribute):
        raise CannotWrite("the function was imported by its name")
    draft.replace(draft.end(call.func) - len(call.func.attr), draft.end(call.func), name)


def match_loss(task: Task) -> None:
    """The loss that expects what it is given: of probabilities, or of raw scores."""
    draft, name = task.draft, str(task.diagnosis.facts.get("function", ""))
    if name not in OTHER_LOSS or (name == "nll_loss" and task.diagnosis.facts.get("activation")):
        raise CannotWrite("there is no other loss for it")
    other, module, other_module = OTHER_LOSS[name]
    line = task.same_file(task.diagnosis.error_line)
    statements = [] if line is None else [draft.statement_at(line.line)]
    calls = [
        node
        for statement in statements
        for node in draft.walk(statement)
        if isinstance(node, ast.Call) and called(node) == name
    ]
    if len(calls) == 1:
        if isinstance(calls[0].func, ast.Attribute) and _takes(calls[0], name):
            _rename(draft, calls[0], other)
            return
        raise CannotWrite("the other loss takes other arguments")
    made = [n for n in draft.walk(draft.tree) if isinstance(n, ast.Call) and called(n) == module]
    if len(made) != 1 or not _takes(made[0], name):
        raise CannotWrite("not exactly one such loss is made")
    _rename(draft, made[0], other_module)


def _takes(call: ast.Call, name: str) -> bool:
    """Whether the other loss takes the same arguments."""
    return all(keyword.arg != "pos_weight" for keyword in call.keywords) or name == "nll_loss"


def match_shapes(task: Task) -> None:
    """The target gets the shape of the prediction."""
    draft, facts = task.draft, task.diagnosis.facts
    if "column" not in facts:
        raise CannotWrite("nothing is broadcast")
    second = facts.get("second")
    differences = [
        (node.right if second else node.left)
        for node in draft.walk(task.statement)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult if facts.get("product") else ast.Sub)
    ]
    calls = [
        node.args[1]
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Call) and len(node.args) >= 2 and _is_loss(node)
    ]
    found = calls if facts.get("function") or len(differences) != 1 else differences
    if len(found) != 1:
        raise CannotWrite("not exactly one comparison is plain to see in the line")
    form = ".unsqueeze(1)" if facts["column"] else ".squeeze(1)"
    draft.rewrite(found[0], draft.operand(found[0]) + form)


def _is_loss(call: ast.Call) -> bool:
    name = dotted(call.func).lower()
    return any(word in name for word in ("loss", "criterion", "crit", "mse", "huber", "objective"))
